/** Each view of a long session with captures has few elements in the document; times and frames are in `bench inspector`. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { makeLongSession, SESSION, type LongSession } from "../../bench/inspector/long-session.ts";
import { FULL } from "../runner/short-form.ts";
import { buildPage } from "../server/built-page.ts";
import { ServeProcess } from "../server/serve-setting.ts";
import { openBrowser, openPage } from "./inspector-setting.ts";

/** Messages before the turns, and turns with one captured request each: 10,000 messages, 1,000 requests, 675 MB. */
const SIZE = FULL ? { messages: 8_000, turns: 1_000 } : { messages: 600, turns: 12 };
const MOST_ELEMENTS = 600;

describe("the views of a long session", () => {
  let long: LongSession;
  let server: ServeProcess;
  let browser: Browser;
  const undo: (() => unknown)[] = [];
  before(async () => {
    await buildPage();
    long = await makeLongSession(SIZE);
    undo.push(() => long.setting.remove());
    server = await ServeProcess.start(long.setting);
    undo.push(() => server.kill());
    browser = await openBrowser();
    undo.push(() => browser.close());
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  it(`have at most ${MOST_ELEMENTS} elements each, also after scrolling`, async () => {
    const { page, problems } = await openPage(browser, { viewport: { width: 1440, height: 900 } });
    page.setDefaultTimeout(60_000);
    const { body } = await server.call("POST", "/api/v1/browser-codes", { scope: "admin" });
    await page.goto(String(body["url"]));
    const { body: listed } = await server.call("GET", `/api/v1/sessions/${SESSION}/requests?limit=1`);
    const [newest] = listed["requests"] as { id: string }[];
    const id = newest?.id ?? "";
    const at = `#/s/main/${SESSION}`;
    const views: readonly (readonly [name: string, hash: string, list: string])[] = [
      ["time", at, "Line of time"],
      ["request", `${at}/r/${encodeURIComponent(id)}`, "Parts of the request"],
      ["changes", `${at}/d/${encodeURIComponent(id)}`, "Changed parts"],
      ["preview", `${at}/p`, "Parts that would be sent"],
    ];
    for (const [name, hash, list] of views) {
      await page.goto(`${server.url}/inspector/${hash}`);
      const box = page.getByRole("listbox", { name: list });
      await box.getByRole("option").first().waitFor();
      for (const share of [0.3, 0.7, 1]) {
        await box.evaluate((node, part) => {
          const element = node as { scrollTop: number; scrollHeight: number };
          element.scrollTop = element.scrollHeight * part;
        }, share);
        await page.evaluate(
          "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
        );
        const elements = Number(await page.evaluate(`document.querySelectorAll("*").length`));
        assert.ok(elements <= MOST_ELEMENTS, `${name} has ${elements} elements`);
      }
    }
    await page.goto(`${server.url}/inspector/#/board`);
    await page.getByRole("heading", { name: "Health" }).waitFor();
    const elements = Number(await page.evaluate(`document.querySelectorAll("*").length`));
    assert.ok(elements <= MOST_ELEMENTS, `the board has ${elements} elements`);
    await page.goto(`${server.url}/inspector/#/talk/main/${SESSION}`);
    const log = page.getByRole("log");
    await log.locator(".talk-row").first().waitFor();
    for (let step = 0; step < 3; step++) {
      await log.evaluate((node) => ((node as { scrollTop: number }).scrollTop = 0));
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
      const rows = Number(await page.evaluate(`document.querySelectorAll("*").length`));
      assert.ok(rows <= MOST_ELEMENTS, `the conversation has ${rows} elements`);
    }
    assert.deepEqual(problems, []);
  });
});
