/** Eight tabs of one browser, each with a turn that runs: a browser has six connections to a server for all of them. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { createClient } from "../../../packages/client/src/index.ts";
import { buildPage } from "../../server/built-page.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { makeSetting, modelConfig } from "../../turn/setting.ts";
import { openBrowser } from "../inspector-setting.ts";
import { startCutProxy, type CutProxy } from "./cut-proxy.ts";
import { startSpokenModel, type SpokenAnswer, type SpokenModel } from "./spoken-model.ts";

/** A slow machine starts eight tabs in this time, ms; nothing is measured by it. */
const PATIENCE_MS = 120_000;
const LETTERS = "abcdefgh".split("");

interface Tab {
  letter: string;
  page: Page;
  answer: SpokenAnswer;
  /** How many words its turn has. */
  words: number;
}

describe("eight tabs with turns that run", () => {
  let model: SpokenModel;
  let server: ServeProcess;
  let way: CutProxy;
  let browser: Browser;
  const undo: (() => unknown)[] = [];

  before(async () => {
    await buildPage();
    model = await startSpokenModel();
    undo.push(() => model.close());
    const setting = makeSetting(modelConfig("openai-completions", model.url));
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

  /** Each with a login of its own, as from `pagurus open`. */
  async function openTab(context: BrowserContext, conversation: string): Promise<Page> {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const { body } = await server.call("POST", "/api/v1/browser-codes", { scope: "admin" });
    const code = /sign-in\/([\w-]+)/.exec(String(body["url"]))?.[1] ?? "";
    await page.goto(`${way.url}/inspector/#/sign-in/${code}/talk/main/${conversation}`);
    await page.getByRole("textbox", { name: "Message" }).waitFor();
    return page;
  }

  async function send(page: Page, text: string): Promise<void> {
    await page.getByRole("textbox", { name: "Message" }).fill(text);
    await page.getByRole("textbox", { name: "Message" }).press("Enter");
  }

  const word = ({ letter }: Tab, number: number): string => `${letter}${number}`;

  /** Says the next words in the tab, and waits until it shows them. */
  async function saysMore(tab: Tab): Promise<void> {
    for (let more = 0; more < 3; more += 1) tab.answer.say(`${word(tab, (tab.words += 1))} `);
    await shows(tab);
  }

  async function shows(tab: Tab): Promise<void> {
    const last = new RegExp(`\\b${word(tab, tab.words)}\\b`);
    await tab.page.getByRole("log").getByText(last).first().waitFor();
  }

  /** Each word once, in order, and no word of another tab. */
  async function isWhole(tab: Tab): Promise<void> {
    const found = (await tab.page.getByRole("log").innerText()).match(/\b[a-h]\d+\b/g) ?? [];
    assert.deepEqual(
      found,
      Array.from({ length: tab.words }, (_, at) => word(tab, at + 1)),
      tab.letter,
    );
  }

  async function ends({ page, answer }: Tab): Promise<void> {
    answer.end();
    await page.getByRole("button", { name: "Stop the turn" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Try again" }).last().waitFor();
  }

  async function openTabs(context: BrowserContext): Promise<Tab[]> {
    const tabs: Tab[] = [];
    for (const letter of LETTERS) {
      const page = await openTab(context, `talk-${letter}`);
      await send(page, "Speak.");
      const tab = { letter, page, answer: await model.next(), words: 0 };
      tabs.push(tab);
      await saysMore(tab);
    }
    return tabs;
  }

  it("each shows its words once, also after the first has closed, another has signed out, and connections were cut", async () => {
    const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } });
    const tabs = await openTabs(context);
    const { streams } = await createClient({ url: server.url, token: server.key }).status();
    assert.equal(streams, 1);
    for (const tab of tabs) await saysMore(tab);
    const [first, second, ...others] = tabs;
    assert.ok(first && second);
    first.answer.say("unseen ");
    await first.page.close();
    for (const tab of [second, ...others]) await saysMore(tab);
    await second.page.getByRole("button", { name: "Sign out" }).click();
    await second.page.getByRole("heading", { name: "This page is signed out." }).waitFor();
    for (const tab of others) await saysMore(tab);
    way.cut();
    for (const tab of others) tab.answer.say(`${word(tab, (tab.words += 1))} `);
    way.join();
    for (const tab of others) {
      await shows(tab);
      await saysMore(tab);
    }
    for (const tab of others) {
      await ends(tab);
      await isWhole(tab);
    }
    for (const tab of [first, second]) tab.answer.end();
    // A tab that comes later, and a further message in each.
    const late = await openTab(context, "late");
    await send(late, "Speak.");
    const last = { letter: "a", page: late, answer: await model.next(), words: 0 };
    await saysMore(last);
    for (const tab of others) {
      await send(tab.page, "Speak again.");
      tab.answer = await model.next();
      await saysMore(tab);
    }
    for (const tab of [...others, last]) {
      await ends(tab);
      await isWhole(tab);
    }
    await context.close();
  });

  it("each follows by itself where the browser has no worker for all tabs", async () => {
    const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } });
    await context.addInitScript("delete globalThis.SharedWorker");
    const page = await openTab(context, "alone");
    await send(page, "Speak.");
    const tab = { letter: "a", page, answer: await model.next(), words: 0 };
    await saysMore(tab);
    await saysMore(tab);
    await ends(tab);
    await isWhole(tab);
    await context.close();
  });
});
