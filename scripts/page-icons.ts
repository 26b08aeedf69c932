/**
 * `node scripts/page-icons.ts`: makes the page's icons as PNG from `packages/inspector/public/icon.svg`, beside it. The maskable one has a
 * margin all around, which systems cut off in the form of their own icons.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openBrowser } from "../test/real/inspector-setting.ts";
import { ROOT } from "./command.ts";
import { smallPng } from "./small-png.ts";

const FOLDER = join(ROOT, "packages/inspector/public");
const GROUND = "#0b3d6e";
const ICONS = [
  { name: "icon-180", size: 180, share: 1 },
  { name: "icon-192", size: 192, share: 1 },
  { name: "icon-512", size: 512, share: 1 },
  { name: "icon-maskable-512", size: 512, share: 0.8 },
];

const svg = readFileSync(join(FOLDER, "icon.svg"), "utf8");
const browser = await openBrowser();
try {
  for (const { name, size, share } of ICONS) {
    const page = await browser.newPage({ viewport: { width: size, height: size } });
    const drawn = `<div style="width:${share * 100}%">${svg}</div>`;
    await page.setContent(
      `<body style="margin:0;height:100vh;display:grid;place-items:center;background:${GROUND}">${drawn}</body>`,
    );
    const file = join(FOLDER, `${name}.png`);
    writeFileSync(file, smallPng(await page.screenshot()));
    await page.close();
    console.log(file);
  }
} finally {
  await browser.close();
}
