/**
 * `node scripts/page-screens.ts [--only NAME]`: takes the screens of the page in `docs/guides/screens/page`: each view in both themes and
 * three sizes, of a home made for it, with Debian's chromium. Also what overflows its window is reported, and fails.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { fill, openPageHome } from "../test/real/page-setting.ts";
import { viewsOf } from "../test/real/page-views.ts";
import { ROOT } from "./command.ts";
import { smallPng } from "./small-png.ts";

const FOLDER = join(ROOT, "docs/guides/screens/page");
const SIZES = [
  ["phone", 390, 780],
  ["tablet", 900, 700],
  ["desk", 1440, 900],
] as const;

async function still(page: Page): Promise<void> {
  // No picture has a pointer on it, nor what is still being drawn.
  await page.mouse.move(0, 0);
  await page.waitForTimeout(400);
}

const { only } = parseArgs({ options: { only: { type: "string" } } }).values;
mkdirSync(FOLDER, { recursive: true });
const home = await fill(await openPageHome());
const problems: string[] = [];
try {
  for (const { name, hash, ready } of await viewsOf(home)) {
    if (only !== undefined && only !== name) continue;
    for (const colorScheme of ["light", "dark"] as const)
      for (const [size, width, height] of SIZES) {
        const opened = await home.open(hash, {
          colorScheme,
          viewport: { width, height },
          hasTouch: size === "phone",
          isMobile: size === "phone",
        });
        const file = `${name}-${size}-${colorScheme}.png`;
        try {
          await ready(opened.page);
          await still(opened.page);
        } catch (error) {
          problems.push(`${file}: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`);
        }
        const over = await opened.page.evaluate(
          "document.documentElement.scrollWidth - document.documentElement.clientWidth",
        );
        if (Number(over) > 0) problems.push(`${file}: ${String(over)} px wider than the window`);
        problems.push(...opened.problems.map((problem) => `${file}: ${problem}`));
        writeFileSync(join(FOLDER, file), smallPng(await opened.page.screenshot()));
        await opened.page.context().close();
        console.log(file);
      }
  }
} finally {
  await home.close();
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
