/** The inspector's list of sessions and its search, in a real browser: all agents, what each session took, earlier generations. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { createClient } from "../../packages/client/src/index.ts";
import { openSessionStore } from "../../packages/host/src/stores/files/session-store.ts";
import { ServeProcess } from "../server/serve-setting.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { buildPage } from "../server/built-page.ts";
import { openBrowser, openPage } from "./inspector-setting.ts";
import { pageFindings } from "./page-findings.ts";

/** More turns than the page reads at once; the first one has a word that no other has. */
function deepSession({ home, workspace }: Setting): void {
  const store = openSessionStore({ agentDir: join(home, "agents", "main"), agentId: "main" });
  const writer = store.openWriter("deep", { cwd: workspace, create: true });
  for (let turn = 0; turn < 700; turn++) {
    const content = turn === 0 ? "A cormorant" : `Tide ${turn}`;
    writer.append({ type: "message", turnId: `t${turn}`, message: { role: "user", content } });
    writer.commitTurn({ turnId: `t${turn}`, outcome: "completed" });
  }
  writer.close();
  store.close();
}

describe("the inspector's list of sessions", () => {
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
      protocol: "anthropic-messages",
      script: () => ({ text: "It has quays.", usage: { input: 1_200, output: 34 } }),
    });
    undo.push(() => model.close());
    setting = makeSetting(
      modelConfig(
        "anthropic-messages",
        model.url,
        { cost: { input: 100, output: 1_000 } },
        { agents: { list: [{ id: "helper" }] } },
      ),
    );
    undo.push(() => setting.remove());
    deepSession(setting);
    server = await ServeProcess.start(setting);
    undo.push(() => server.kill());
    const client = createClient({ url: server.url, token: server.key });
    const turn = async (agent: string, prompt: string): Promise<void> => {
      const { id } = await client.postTurn("sea", { prompt }, { agent });
      assert.equal((await server.ended(id))["outcome"], "completed");
    };
    await turn("main", "A lighthouse of main");
    await turn("helper", "A harbour of before");
    await client.renew("sea", { agent: "helper", reason: "new" });
    await turn("helper", "A lighthouse of helper");
    browser = await openBrowser();
    undo.push(() => browser.close());
    ({ page, problems } = await openPage(browser, { viewport: { width: 360, height: 640 } }));
    page.setDefaultTimeout(20_000);
    const { body } = await server.call("POST", "/api/v1/browser-codes", { scope: "read" });
    await page.goto(String(body["url"]));
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  async function found(words: string): Promise<string[]> {
    await page.keyboard.press("/");
    await page.getByRole("searchbox").fill(words);
    await page.keyboard.press("Enter");
    const list = page.getByRole("listbox", { name: "Found messages" });
    await list.getByRole("option").first().waitFor();
    return list.locator(".row-facts").allTextContents();
  }

  it("has the sessions of all agents, last used first, with model, tokens and cost", async () => {
    const list = page.getByRole("listbox", { name: "Sessions" });
    await list.getByText("1,200 tokens in, 34 out").nth(1).waitFor();
    const facts = await list.locator(".row-facts").allTextContents();
    assert.equal(facts.length, 6);
    const [helper, lastUse, main] = facts;
    assert.match(helper ?? "", /^helper · test\/model · embedded · 1,200 tokens in, 34 out · \$0\.154$/);
    assert.match(main ?? "", /^main · test\/model · embedded · 1,200 tokens in, 34 out · \$0\.154$/);
    assert.match(lastUse ?? "", /20\d\d.*:.* · 1 turn · /);
    assert.deepEqual(await pageFindings(page), []);
  });

  it("finds messages of all agents, and opens the session at the hit", async () => {
    const facts = await found("lighthouse");
    const agents = new Set(facts.map((text) => /· (\w+) · user/.exec(text)?.[1]));
    assert.deepEqual(agents, new Set(["helper", "main"]));
    await page.getByRole("option", { name: /lighthouse of helper/ }).click();
    await page.getByRole("region", { name: "Words" }).getByText("A lighthouse of helper").waitFor();
    assert.match(new URL(page.url()).hash, /#\/s\/helper\/sea\/e\//);
  });

  it("shows where a hit is on the line of time, however far back", async () => {
    await found("cormorant");
    await page.getByRole("option", { name: /cormorant/ }).click();
    const list = page.getByRole("listbox", { name: "Line of time" });
    const row = list.getByRole("option", { selected: true }).filter({ hasText: "A cormorant" });
    await row.waitFor();
    const [inside, outside] = [await row.boundingBox(), await list.boundingBox()];
    assert.ok(inside && outside);
    // The list's height may be a fraction of a pixel.
    assert.ok(inside.y + 1 >= outside.y && inside.y + inside.height <= outside.y + outside.height + 1);
  });

  it("opens a hit of an earlier generation", async () => {
    await found("harbour");
    await page.getByRole("option", { name: /harbour of before/ }).click();
    await page.getByRole("region", { name: "Words" }).getByText("A harbour of before").waitFor();
    assert.deepEqual(problems, []);
  });
});
