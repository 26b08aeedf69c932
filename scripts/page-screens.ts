/**
 * `node scripts/page-screens.ts [--only NAME,…]`: takes the screens of the page in `docs/guides/screens/page`: each view in both themes and
 * three sizes, of a home made for it, with Debian's chromium. Also what overflows its window is reported, and fails.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { fill, openPageHome } from "../test/real/page-setting.ts";
import { talkViewsOf } from "../test/real/page-talk-views.ts";
import { viewsOf, type View } from "../test/real/page-views.ts";
import { ROOT } from "./command.ts";
import { smallPng } from "./small-png.ts";

const FOLDER = join(ROOT, "docs/guides/screens/page");
const SIZES = [
  ["phone", 360, 740],
  ["tablet", 768, 1024],
  ["desk", 1440, 900],
] as const;

async function still(page: Page): Promise<void> {
  // No picture has a pointer on it, nor what is still being drawn.
  await page.mouse.move(0, 0);
  await page.waitForTimeout(400);
}

async function take(page: Page, { hash, ready }: View, file: string): Promise<void> {
  // Nothing of the view before is left.
  await page.goto("about:blank");
  await page.goto(`${home.server.url}/inspector/${hash}`);
  try {
    await ready(page);
    await still(page);
  } catch (error) {
    problems.push(`${file}: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`);
  }
  const over = await page.evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  if (Number(over) > 0) problems.push(`${file}: ${String(over)} px wider than the window`);
  writeFileSync(join(FOLDER, file), smallPng(await page.screenshot()));
  console.log(file);
}

const { only } = parseArgs({ options: { only: { type: "string" } } }).values;
mkdirSync(FOLDER, { recursive: true });
const home = await fill(await openPageHome());
const problems: string[] = [];
try {
  const views = [...talkViewsOf(home), ...(await viewsOf(home))].filter(
    ({ name }) => only === undefined || only.split(",").includes(name),
  );
  for (const colorScheme of ["light", "dark"] as const)
    for (const [size, width, height] of SIZES) {
      // One login for all views of a size.
      const isPhone = size === "phone";
      const { page, ...opened } = await home.open("#/", {
        colorScheme,
        viewport: { width, height },
        hasTouch: isPhone,
        isMobile: isPhone,
      });
      for (const view of views) await take(page, view, `${view.name}-${size}-${colorScheme}.png`);
      problems.push(...opened.problems.map((problem) => `${size}, ${colorScheme}: ${problem}`));
      await page.context().close();
    }
} finally {
  await home.close();
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
