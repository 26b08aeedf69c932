/**
 * `node scripts/inspector-screens.ts`: takes the screenshots of the inspector in `docs/guides/screens`, of a session made for it, with
 * Debian's chromium: each page in the light theme, the line of time and a request in the dark one too.
 */
import { join } from "node:path";
import type { Page } from "playwright-core";
import { startServer } from "../test/servers/server.ts";
import { makeSetting, modelConfig, start } from "../test/turn/setting.ts";
import { buildPage, InspectProcess, openBrowser, openPage, runTurn } from "../test/real/inspector-setting.ts";
import { ROOT } from "./command.ts";

const FOLDER = join(ROOT, "docs/guides/screens");
const PROMPTS = [
  "Which berths are free tomorrow?",
  "Move the Heron to berth 7.",
  "Write the notice for the pilots.",
  "When does the tide turn?",
];

async function shoot(page: Page, name: string): Promise<void> {
  await page.waitForLoadState("networkidle");
  await page.screenshot({ path: join(FOLDER, `inspector-${name}.png`) });
}

const model = await startServer({
  protocol: "anthropic-messages",
  script: (_, index) => ({
    text: `Answer ${index}: berth 7 is free from nine to noon. ${"The tide turns at ten. ".repeat(30)}`,
    usage: { input: 200 + 150 * index, cacheRead: 900 * index, output: 120 },
  }),
});
const setting = makeSetting(
  modelConfig(
    "anthropic-messages",
    model.url,
    {},
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
    const { page } = await openPage(browser, { colorScheme, viewport: { width: 1100, height: 640 } });
    await page.goto(await inspect.address);
    await page.getByRole("listbox", { name: "Line of time" }).getByRole("option").first().waitFor();
    await shoot(page, `time-${colorScheme}`);
    await page
      .getByRole("option", { name: /^request ?test\/model ?embedded/ })
      .first()
      .click();
    await page.locator("[data-covered=true]").waitFor();
    await shoot(page, `request-${colorScheme}`);
    if (colorScheme === "light") {
      await page.getByRole("button", { name: "Map" }).click();
      await shoot(page, "map-light");
      await page.getByRole("link", { name: "Changes since the request before" }).press("Enter");
      await page.getByRole("option").first().click();
      await page.getByLabel("Words that changed").waitFor();
      await shoot(page, "changes-light");
    }
    await inspect.stop();
  }
} finally {
  await browser.close();
  await model.close();
  setting.remove();
}
