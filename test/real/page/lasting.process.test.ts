/** A conversation over lost connections, a server that begins again, and two tabs: nothing is lost, nothing is there twice. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { buildPage } from "../../server/built-page.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { openBrowser } from "../inspector-setting.ts";
import { startCutProxy, type CutProxy } from "./cut-proxy.ts";
import { startSpokenModel, type SpokenModel } from "./spoken-model.ts";

/** A slow machine starts a server and an engine in this time, ms; nothing is measured by it. */
const PATIENCE_MS = 60_000;

/** Words that occur once each: `a1 a2 a3 `. */
function names(letter: string, from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, at) => `${letter}${from + at} `).join("");
}

describe("a conversation that is looked at over a bad connection", () => {
  let model: SpokenModel;
  let setting: Setting;
  let server: ServeProcess;
  let way: CutProxy;
  let browser: Browser;
  const undo: (() => unknown)[] = [];

  before(async () => {
    await buildPage();
    model = await startSpokenModel();
    undo.push(() => model.close());
    const more = {
      agents: { defaults: { permission: { mode: "ask", sandbox: "off" } } },
      plugins: { slots: { contextEngine: "lossless" } },
    };
    setting = makeSetting(modelConfig("openai-completions", model.url, {}, more));
    undo.push(() => setting.remove());
    server = await ServeProcess.start(setting);
    undo.push(() => server.kill());
    way = await startCutProxy(() => server.port);
    undo.push(() => way.close());
    browser = await openBrowser();
    undo.push(() => browser.close());
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  async function signIn(page: Page, hash = "#/"): Promise<void> {
    const { body } = await server.call("POST", "/api/v1/browser-codes", { scope: "admin" });
    const code = /sign-in\/([\w-]+)/.exec(String(body["url"]))?.[1] ?? "";
    await page.goto(`${way.url}/inspector/#/sign-in/${code}${hash.slice(1)}`);
  }

  async function open(context: BrowserContext, hash = "#/"): Promise<Page> {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await signIn(page, hash);
    return page;
  }

  async function newContext(): Promise<BrowserContext> {
    return browser.newContext({ viewport: { width: 1_280, height: 800 } });
  }

  const input = (page: Page) => page.getByRole("textbox", { name: "Message" });
  const question = (page: Page) => page.getByRole("group", { name: /May it use/ });
  const shown = (page: Page): Promise<string> => page.getByRole("log").innerText();
  const hashOf = (page: Page): string => new URL(page.url()).hash;

  async function send(page: Page, text: string): Promise<void> {
    await input(page).fill(text);
    await page.keyboard.press("Enter");
  }

  /** The words with a letter and a number, in the order of the page. */
  async function said(page: Page, letter: string): Promise<string> {
    const found = (await shown(page)).match(new RegExp(`\\b${letter}\\d+`, "g")) ?? [];
    return found.map((word) => `${word} `).join("");
  }

  async function has(page: Page, word: string): Promise<void> {
    await page
      .getByRole("log")
      .getByText(new RegExp(`\\b${word}\\b`))
      .first()
      .waitFor();
  }

  async function ended(page: Page): Promise<void> {
    await page.getByRole("button", { name: "Stop the turn" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Try again" }).last().waitFor();
  }

  it("shows each word once when its connections are cut again and again", async () => {
    const context = await newContext();
    const page = await open(context);
    await send(page, "speak");
    const answer = await model.next();
    answer.say(names("a", 1, 3));
    await has(page, "a3");
    for (let cut = 1; cut <= 4; cut++) {
      way.cut();
      answer.say(names("a", 3 * cut + 1, 3 * cut + 3));
      way.join();
      await has(page, `a${3 * cut + 3}`);
    }
    assert.equal(await said(page, "a"), names("a", 1, 15));
    way.cut();
    answer.say(names("a", 16, 18));
    answer.end();
    way.join();
    await ended(page);
    assert.equal(await said(page, "a"), names("a", 1, 18));
    const before = await shown(page);
    await page.reload();
    await ended(page);
    assert.equal(await shown(page), before);
    await context.close();
  });

  it("comes back by itself after a server was away for long, in the middle of an answer", async () => {
    const context = await newContext();
    const page = await open(context);
    await send(page, "speak long");
    const answer = await model.next();
    answer.say(names("b", 1, 3));
    await has(page, "b3");
    way.cut();
    answer.say(names("b", 4, 6));
    // Longer than the client tries by itself.
    await page.locator(".away").waitFor();
    await input(page).fill("a message that is not lost");
    way.join();
    await has(page, "b6");
    await page.locator(".away").waitFor({ state: "detached" });
    assert.equal(await input(page).inputValue(), "a message that is not lost");
    answer.say(names("b", 7, 9));
    await has(page, "b9");
    answer.end();
    await ended(page);
    assert.equal(await said(page, "b"), names("b", 1, 9));
    assert.equal(await page.getByRole("alert").count(), 0);
    await context.close();
  });

  it("sends a message once whose answer was lost", async () => {
    const context = await newContext();
    const page = await open(context);
    await input(page).waitFor();
    let tries = 0;
    await page.route(/\/turns\b/, async (route) => {
      tries += 1;
      if (tries > 1) return route.continue();
      // The server has it, and the browser does not know.
      await route.fetch();
      return route.abort("connectionreset");
    });
    await send(page, "only once");
    const answer = await model.next();
    answer.say("c1 ");
    answer.end();
    await ended(page);
    assert.ok(tries > 1);
    assert.equal(await page.locator(".from-user").count(), 1);
    assert.equal(await said(page, "c"), "c1 ");
    await context.close();
  });

  it("shows a question in two tabs, of which one answers", async () => {
    const context = await newContext();
    const first = await open(context);
    await send(first, "use the shell");
    const answer = await model.next();
    answer.say("d1 ");
    await has(first, "d1");
    const second = await open(context, hashOf(first));
    await has(second, "d1");
    answer.call("echo once >> once.txt");
    await question(first).waitFor();
    await question(second).waitFor();
    // The second tab's answer is on its way while the first one's counts.
    let release = (): void => undefined;
    const isHeld = new Promise<void>((held) => {
      void second.route(/\/approvals\/[^/]+$/, async (route) => {
        await new Promise<void>((resolve) => {
          release = resolve;
          held();
        });
        await route.continue();
      });
    });
    await question(second).getByRole("button", { name: "Allow once" }).click();
    await isHeld;
    await question(first).getByRole("button", { name: "Allow once" }).click();
    await question(first).waitFor({ state: "detached" });
    const after = await model.next();
    release();
    await question(second).waitFor({ state: "detached" });
    after.say("d2 ");
    await has(first, "d2");
    await has(second, "d2");
    after.end();
    await Promise.all([ended(first), ended(second)]);
    assert.equal(await shown(second), await shown(first));
    assert.equal(await said(second, "d"), "d1 d2 ");
    assert.equal(await first.locator(".tool").count(), 1);
    assert.equal(readFileSync(join(setting.workspace, "once.txt"), "utf8"), "once\n");
    await context.close();
  });

  it("leads on after the server was killed and began again, with a question that is answered once", async () => {
    const context = await newContext();
    const page = await open(context);
    await send(page, "survive");
    const answer = await model.next();
    answer.say("e1 ");
    answer.call("echo again >> again.txt");
    await question(page).waitFor();
    await input(page).fill("a draft");
    const hash = hashOf(page);
    await server.kill();
    await server.begin();
    // Every login ends with its server.
    await page.getByRole("heading", { name: "This page is signed out." }).waitFor();
    const { body } = await server.call("POST", "/api/v1/browser-codes", { scope: "admin" });
    await page.getByRole("textbox", { name: /Or paste/ }).fill(String(body["url"]));
    await page.keyboard.press("Enter");
    await input(page).waitFor();
    assert.equal(hashOf(page), hash);
    assert.equal(await input(page).inputValue(), "a draft");
    // The same question, without asking the model again.
    await question(page).waitFor();
    assert.equal(await question(page).count(), 1);
    await question(page).getByRole("button", { name: "Allow once" }).click();
    const last = await model.next();
    last.say("e2 ");
    last.end();
    await ended(page);
    assert.equal(await page.locator(".from-user").count(), 1);
    assert.equal(await said(page, "e"), "e1 e2 ");
    assert.equal(readFileSync(join(setting.workspace, "again.txt"), "utf8"), "again\n");
    const before = await shown(page);
    await page.reload();
    await ended(page);
    assert.equal(await shown(page), before);
    await context.close();
  });
});
