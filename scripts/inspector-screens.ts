/**
 * `node scripts/inspector-screens.ts`: takes the screenshots of the inspector in `docs/guides/screens`, of a session made for it, with
 * Debian's chromium: each page in the light theme and in the dark one.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { startServer } from "../test/servers/server.ts";
import { makeSetting, modelConfig, start } from "../test/turn/setting.ts";
import { buildPage } from "../test/server/built-page.ts";
import { InspectProcess, openBrowser, openPage, runTurn } from "../test/real/inspector-setting.ts";
import { ROOT } from "./command.ts";
import { smallPng } from "./small-png.ts";

const FOLDER = join(ROOT, "docs/guides/screens");
const PROMPTS = [
  "Which berths are free tomorrow?",
  "Move the Heron to berth 7.",
  "Write the notice for the pilots.",
  "When does the tide turn?",
];

const SUMMARY = `## Goal
The user plans the berths of tomorrow.
## State
The Heron has berth 7 from nine to noon.
## Decisions and constraints
The pilots get a notice.
## Open asks
When the tide turns.`;

async function shoot(page: Page, name: string): Promise<void> {
  // No picture has a pointer on it, nor what is still being drawn.
  await page.mouse.move(0, 0);
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  writeFileSync(join(FOLDER, `inspector-${name}.png`), smallPng(await page.screenshot()));
}

const model = await startServer({
  protocol: "anthropic-messages",
  script: ({ text }, index) => ({
    text: text.includes("</transcript>")
      ? SUMMARY
      : `Answer ${index}: berth 7 is free from nine to noon. ${"The tide turns at ten. ".repeat(30)}`,
    usage: { input: 400 + 150 * index, cacheRead: 900 * index, output: 120 },
  }),
});
const setting = makeSetting(
  modelConfig(
    "anthropic-messages",
    model.url,
    { cost: { input: 3, output: 15 } },
    { plugins: { slots: { contextEngine: "lossless" } }, gateway: { capture: true } },
  ),
);
const browser = await openBrowser();
try {
  await buildPage();
  const args = ["--session", "harbour"];
  for (const prompt of PROMPTS) await runTurn(setting, prompt, args);
  await start(setting, ["compact", ...args]).finished;
  await runTurn(setting, "And the day after?", args);
  for (const colorScheme of ["light", "dark"] as const) {
    const inspect = new InspectProcess(setting, args);
    const { page } = await openPage(browser, { colorScheme, viewport: { width: 900, height: 560 } });
    await page.goto(await inspect.address);
    await page.getByRole("listbox", { name: "Line of time" }).getByRole("option").first().waitFor();
    await page.locator(".uplot canvas").nth(2).waitFor();
    await shoot(page, `time-${colorScheme}`);
    await page.getByRole("link", { name: "Compactions" }).click();
    await page.getByRole("listbox").getByRole("option").nth(1).click();
    await page.locator("pre.words").first().waitFor();
    await shoot(page, `compactions-${colorScheme}`);
    await page.goBack();
    await page
      .getByRole("option", { name: /^request ?test\/model ?embedded/ })
      .first()
      .click();
    await page.locator("[data-covered=true]").waitFor();
    await page
      .getByText(/^Nothing|summarized/)
      .first()
      .waitFor();
    await shoot(page, `request-${colorScheme}`);
    await page.getByRole("button", { name: "Map" }).click();
    await shoot(page, `map-${colorScheme}`);
    await page.getByRole("link", { name: "Changes since the request before" }).press("Enter");
    await page.getByRole("option").first().click();
    await page.getByLabel("Words that changed").waitFor();
    await shoot(page, `changes-${colorScheme}`);
    await inspect.stop();
  }
} finally {
  await browser.close();
  await model.close();
  setting.remove();
}
