/** The inspector's pages for everyone: no serious finding of axe in either theme, at two widths, and each page by keyboard alone. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, start, type Setting } from "../turn/setting.ts";
import { buildPage } from "../server/built-page.ts";
import { InspectProcess, openBrowser, openPage, runTurn } from "./inspector-setting.ts";
import { pageFindings } from "./page-findings.ts";

describe("the inspector's pages", () => {
  let model: ModelServer;
  let setting: Setting;
  let browser: Browser;
  const undo: (() => unknown)[] = [];

  before(async () => {
    await buildPage();
    model = await startServer({
      protocol: "openai-completions",
      script: () => ({ text: `An answer. ${"a harbour has quays. ".repeat(40)}` }),
    });
    undo.push(() => model.close());
    setting = makeSetting(
      modelConfig(
        "openai-completions",
        model.url,
        {},
        {
          plugins: { slots: { contextEngine: "lossless" } },
          gateway: { capture: true },
        },
      ),
    );
    undo.push(() => setting.remove());
    const args = ["--session", "sea"];
    for (const at of [1, 2, 3, 4])
      await runTurn(setting, `Prompt ${at}: ${"the tide turns. ".repeat(80)}`, args);
    assert.equal((await start(setting, ["compact", ...args]).finished).code, 0);
    await runTurn(setting, "And now?", args);
    browser = await openBrowser();
    undo.push(() => browser.close());
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  for (const colorScheme of ["light", "dark"] as const)
    for (const width of [1200, 360])
      it(`have no serious finding in the ${colorScheme} theme at ${width} px`, async () => {
        const inspect = new InspectProcess(setting);
        try {
          const viewport = { width, height: 800 };
          const { page, problems } = await openPage(browser, { colorScheme, viewport });
          const found: string[] = [];
          const visit = async (name: string, list: string): Promise<void> => {
            await page.getByRole("listbox", { name: list }).getByRole("option").first().waitFor();
            found.push(...(await pageFindings(page)).map((finding) => `${name}: ${finding}`));
          };
          await page.goto(await inspect.address);
          await visit("sessions", "Sessions");
          await page.keyboard.press("Enter");
          await visit("line of time", "Line of time");
          // The turn's own: those that made summaries have no captured body.
          await page
            .getByRole("option", { name: /^request ?test\/model ?embedded/ })
            .first()
            .click();
          await visit("request", "Parts of the request");
          await page.getByRole("link", { name: "Changes since the request before" }).press("Enter");
          await visit("changes", "Changed parts");
          await page.keyboard.press("Escape");
          await page.getByRole("listbox", { name: "Parts of the request" }).waitFor();
          await page.keyboard.press("Escape");
          await page.getByRole("link", { name: "Compactions" }).press("Enter");
          await visit("compactions", "Compactions and summaries");
          await page.keyboard.press("Escape");
          await page.getByRole("link", { name: "What would be sent" }).press("Enter");
          await visit("preview", "Parts that would be sent");
          assert.deepEqual(found, []);
          assert.deepEqual(problems, []);
        } finally {
          await inspect.stop();
        }
      });
});
