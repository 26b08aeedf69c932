/** The file that the inspector saves, in a browser: it opens from the disk, asks for nothing, runs nothing. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { startServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { buildPage } from "../server/built-page.ts";
import { InspectProcess, openBrowser, openPage, runTurn } from "./inspector-setting.ts";

const HOSTILE = `</pre></details><script>alert(1)</script><img src=http://evil.example/x onerror=alert(2)><style>body{display:none}</style>`;

/** A browser's own size of such a heading is 32 px. */
const FONT_SIZE = `getComputedStyle(document.querySelector("h1")).fontSize`;

describe("a report that was saved from the inspector", () => {
  let setting: Setting;
  let browser: Browser;
  let inspect: InspectProcess;
  const undo: (() => unknown)[] = [];

  before(async () => {
    await buildPage();
    const model = await startServer({
      protocol: "anthropic-messages",
      script: () => ({ text: `Answer: ${HOSTILE} ${"long words. ".repeat(500)}` }),
    });
    undo.push(() => model.close());
    setting = makeSetting(modelConfig("anthropic-messages", model.url, {}, { gateway: { capture: true } }));
    undo.push(() => setting.remove());
    await runTurn(setting, `Prompt ${HOSTILE}`);
    browser = await openBrowser();
    undo.push(() => browser.close());
    inspect = new InspectProcess(setting, ["--session", "main"]);
    undo.push(() => inspect.stop());
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  it("opens from the disk, of a session and of a request, with what the user picked left out", async () => {
    const { page, problems } = await openPage(browser, { acceptDownloads: true });
    await page.goto(await inspect.address);
    await page.getByRole("listbox", { name: "Line of time" }).waitFor();
    const save = async (name: string, kind?: string): Promise<string> => {
      await page.getByText("Save as HTML").click();
      if (kind !== undefined) await page.getByLabel(kind).check();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Save", exact: true }).click(),
      ]);
      assert.match(download.suggestedFilename(), /^main[\w.-]*\.html$/);
      const path = join(setting.root, name);
      await download.saveAs(path);
      return pathToFileURL(path).href;
    };
    const session = await save("session.html", "what the user wrote");
    await page.getByRole("option", { name: /^request/ }).click();
    await page.locator("[data-covered=true]").waitFor();
    const request = await save("request.html");
    assert.deepEqual(problems, []);
    for (const [address, hasPrompt] of [
      [session, false],
      [request, true],
    ] as const) {
      const opened = await openPage(browser);
      await opened.page.goto(address);
      const heading = opened.page.getByRole("heading", { level: 1 });
      await heading.waitFor({ state: "visible" });
      const text = (await opened.page.locator("body").textContent()) ?? "";
      assert.equal(text.includes("Prompt </pre>"), hasPrompt);
      assert.equal(text.includes("[redacted: the user's words"), !hasPrompt);
      if (address === session) assert.ok(text.includes(`Answer: ${HOSTILE}`));
      assert.equal(await opened.page.locator("script, img, a, link, iframe, body style").count(), 0);
      assert.notEqual(await opened.page.evaluate(FONT_SIZE), "32px");
      assert.deepEqual(opened.asked, [address]);
      assert.deepEqual(opened.problems, []);
    }
  });
});
