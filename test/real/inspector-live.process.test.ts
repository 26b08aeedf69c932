/** The inspector of a running server in a real browser: a turn as it happens, what changed between requests, what would be sent. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { ServeProcess } from "../server/serve-setting.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { buildPage } from "../server/built-page.ts";
import { openBrowser, openPage } from "./inspector-setting.ts";

describe("the inspector of a running server", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  let browser: Browser;
  let page: Page;
  let problems: string[];
  const undo: (() => unknown)[] = [];

  before(async () => {
    await buildPage();
    model = await startServer({
      protocol: "openai-responses",
      script: (_, index) => ({ text: `Answer ${index}.` }),
    });
    undo.push(() => model.close());
    setting = makeSetting(modelConfig("openai-responses", model.url, {}, { gateway: { capture: true } }));
    undo.push(() => setting.remove());
    server = await ServeProcess.start(setting);
    undo.push(() => server.kill());
    await turn("First prompt");
    browser = await openBrowser();
    undo.push(() => browser.close());
    ({ page, problems } = await openPage(browser, { viewport: { width: 1200, height: 800 } }));
    // What the page looks at without an event would hide a missing one.
    await page.addInitScript("globalThis.setInterval = () => 0");
    const { body } = await server.call("POST", "/api/v1/browser-codes", {});
    await page.goto(`${String(body["url"])}/sessions`);
    await page.getByRole("listbox", { name: "Sessions" }).waitFor();
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  async function turn(prompt: string): Promise<void> {
    const { body } = await server.call("POST", "/api/v1/sessions/sea/turns", { prompt });
    await server.events(`/api/v1/work/${String(body["id"])}/events`, ({ type }) => type === "work.ended");
  }

  /** Titles of the line of time, newest first, once there are so many. */
  async function titles(count: number): Promise<string[]> {
    const marks = page.getByRole("listbox", { name: "Line of time" }).getByRole("option");
    await marks.nth(count - 1).waitFor();
    assert.equal(await marks.count(), count);
    return marks.locator(".row-title").allTextContents();
  }

  it("shows a turn when it happens, and after a lost connection each item once", async () => {
    await page.keyboard.press("Enter");
    await titles(2);
    await turn("Second prompt");
    const shown = await titles(4);
    assert.match(shown[1] ?? "", /Second prompt/);
    await page.context().setOffline(true);
    await turn("Third prompt");
    await page.context().setOffline(false);
    const all = await titles(6);
    assert.deepEqual(
      all.filter((title) => title.startsWith("turn")),
      ["turnThird prompt", "turnSecond prompt", "turnFirst prompt"],
    );
  });

  it("compares a request with the one before: the first byte, each part, its words", async () => {
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Changes since the request before" }).press("Enter");
    await page.getByRole("listbox", { name: "Changed parts" }).waitFor();
    const [before, after] = model.requests.slice(1).map(({ text }) => Buffer.from(text));
    const offset = before?.findIndex((byte, at) => byte !== after?.[at]);
    const first = page.locator("[data-first-byte]");
    assert.equal(await first.getAttribute("data-first-byte"), String(offset));
    const changes = await page.locator("[data-change]").allTextContents();
    assert.ok(changes.includes("added"), changes.join(", "));
    await page
      .getByRole("option", { name: /added.*This turn/ })
      .first()
      .click();
    const words = page.getByLabel("Words that changed");
    await words.waitFor();
    assert.match((await words.locator("ins").allTextContents()).join(""), /Third prompt/);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.getByRole("listbox", { name: "Parts of the request" }).waitFor();
    await page.keyboard.press("Escape");
  });

  it("shows what would be sent for a prompt, and sends nothing", async () => {
    const sent = model.requests.length;
    await page.getByRole("link", { name: "What would be sent" }).press("Enter");
    await page.getByLabel("Prompt").fill("What would you say?");
    await page.keyboard.press("Enter");
    const list = page.getByRole("listbox", { name: "Parts that would be sent" });
    await list
      .getByRole("option", { name: /This turn/ })
      .first()
      .waitFor();
    const sources = await list.locator(".mark").allTextContents();
    assert.ok(sources.includes("System prompt"), sources.join(", "));
    assert.equal(model.requests.length, sent);
    assert.deepEqual(
      problems.filter((problem) => !problem.includes("ERR_INTERNET_DISCONNECTED")),
      [],
    );
  });
});
