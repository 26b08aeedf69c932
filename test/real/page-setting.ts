/** A server with something in each view of the page: turns, a compaction, a question, waiting work, costs, jobs, a channel, tokens. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { ChannelStore } from "../../packages/channels/src/channel-store.ts";
import { createClient, type PagurusClient } from "../../packages/client/src/index.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import { buildPage } from "../server/built-page.ts";
import { ServeProcess } from "../server/serve-setting.ts";
import { startServer, type ReplyScript } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { readBody } from "../turn/wire-bodies.ts";
import { openBrowser, openPage } from "./inspector-setting.ts";

const PROTOCOL = "anthropic-messages";

const SUMMARY = `## Goal
The user plans the berths of tomorrow.
## State
The Heron has berth 7 from nine to noon.
## Open asks
When the tide turns.`;

export const ANSWER = `Berth 7 is free from **nine to noon**. The plan:

| berth | ship  | until |
| ----- | ----- | ----- |
| 7     | Heron | 12:00 |
| 8     | –     | 18:00 |

\`\`\`ts
const berth = plan.find(({ free }) => free);
\`\`\`
`;

const PROMPTS = [
  "Which berths are free tomorrow?",
  "Move the Heron to berth 7 and tell the pilots.",
  "Use the shell to look at the plan.",
  "Write the notice for the pilots.",
];

const COST = { input: 3, output: 15, cacheRead: 0.3 };

/** The configuration of `modelConfig` with a second model, \`test/small\`. */
function withSmallModel(...parts: Parameters<typeof modelConfig>): Record<string, unknown> {
  const config = modelConfig(...parts);
  const { providers } = config["models"] as { providers: { test: { models: object[] } } };
  providers.test.models.push({ id: "small", contextWindow: 100_000, maxTokens: 4_000, cost: COST });
  return config;
}

const script: ReplyScript = (request, index) => {
  const { messages } = readBody(PROTOCOL, request);
  const last = messages.at(-1);
  const { text } = request;
  const usage = { input: 1_400 + 350 * index, cacheRead: index === 3 ? 0 : 900 * index, output: 160 };
  if (text.includes("</transcript>")) return { text: SUMMARY, usage };
  const words = JSON.stringify(last ?? "");
  if (last?.role !== "tool" && words.includes("Use the shell"))
    return {
      text: "I look at the plan.",
      toolCalls: [{ id: `call-${index}`, name: "shell", arguments: { command: "cat plan.md" } }],
      usage,
    };
  if (last?.role !== "tool" && words.includes("Ask a subagent"))
    return {
      text: "Another agent counts them.",
      toolCalls: [
        { id: `call-${index}`, name: "spawn_agent", arguments: { task: "Count the ships of tomorrow." } },
      ],
      usage,
    };
  if (words.includes("Count the ships")) return { text: "Three ships come: Heron, Teal, Gannet.", usage };
  return { text: ANSWER, usage };
};

export interface PageHome {
  setting: Setting;
  server: ServeProcess;
  client: PagurusClient;
  browser: Browser;
  /** Id of a turn of the session `harbour` with two requests. */
  turn: string;
  /** A page of the owner at a place such as `#/board`, and what it reported. */
  open(
    hash: string,
    options?: BrowserContextOptions,
  ): Promise<{ page: Page; problems: string[]; asked: string[] }>;
  close(): Promise<void>;
}

async function until(isMet: () => Promise<boolean>): Promise<void> {
  while (!(await isMet())) await new Promise((resolve) => setTimeout(resolve, 30));
}

/** `script`: of the model; default: answers about berths, and a tool for "Use the shell". */
export async function openPageHome(reply: ReplyScript = script): Promise<PageHome> {
  const undo: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    await buildPage();
    const model = await startServer({ protocol: PROTOCOL, script: reply });
    undo.push(() => model.close());
    const setting = makeSetting(
      withSmallModel(
        PROTOCOL,
        model.url,
        { cost: COST },
        {
          agents: {
            list: [{ id: "helper" }],
            defaults: { permission: { mode: "ask", sandbox: "off" }, maxCost: { day: 2 } },
          },
          plugins: { slots: { contextEngine: "lossless" } },
          channels: { pilots: { kind: "webhook", enabled: false, secret: "a-secret-of-the-webhook" } },
        },
      ),
    );
    undo.push(() => setting.remove());
    const server = await ServeProcess.start(setting);
    undo.push(() => server.kill());
    const client = createClient({ url: server.url, token: server.key });
    const browser = await openBrowser();
    undo.push(() => browser.close());
    const open: PageHome["open"] = async (hash, options = {}) => {
      const opened = await openPage(browser, options);
      opened.page.setDefaultTimeout(20_000);
      const url = await client.browserCode({ scope: "admin" });
      await opened.page.goto(url.replace(/#\/sign-in\/([\w-]+).*$/, `#/sign-in/$1${hash.replace(/^#/, "")}`));
      // Signed in: another page that is opened at once would end the exchange of the code.
      while (Number(await opened.page.evaluate("sessionStorage.length")) === 0)
        await opened.page.evaluate("new Promise((done) => requestAnimationFrame(done))");
      return opened;
    };
    return { setting, server, client, browser, turn: "", open, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A conversation with three branches, of which the last is the newest, a subagent, and an answer of another model. */
async function fillTrip({ client, server }: PageHome): Promise<void> {
  const turn = async (prompt: string, model?: string): Promise<void> =>
    void (await server.ended((await client.postTurn("trip", { prompt, ...(model ? { model } : {}) })).id));
  await turn("Plan the trip of the pilots.");
  const end = (await client.entries("trip")).at(-1)?.id ?? null;
  for (const prompt of [
    "By train, if it is on time.",
    "By boat.",
    "By boat, and back by train. Ask a subagent how many ships come.",
  ]) {
    await client.rewind("trip", end);
    await turn(prompt);
  }
  await turn("And who pays?", "test/small");
}

/** Fills the home with what the views show. */
export async function fill(home: PageHome): Promise<PageHome> {
  const { client, server, setting } = home;
  let turn = "";
  for (const prompt of PROMPTS) {
    const { id } = await client.postTurn("harbour", { prompt });
    if (prompt.startsWith("Use the shell")) {
      turn = id;
      await until(async () => (await client.approvals()).length > 0);
      for (const each of await client.approvals()) await client.answer(each.id, "once");
    }
    await server.ended(id);
  }
  await server.ended((await client.compact("harbour")).id);
  await server.ended((await client.postTurn("harbour", { prompt: "And the day after?" })).id);
  await server.ended(
    (await client.postTurn("tides", { prompt: "When does the tide turn?" }, { agent: "helper" })).id,
  );
  await client.postTurn("crane", { prompt: "Use the shell to read the plan of the crane." });
  await until(async () => (await client.approvals()).length > 0);
  await client.postTurn("crane", { prompt: "Then write it down." });
  await client.jobs.add({
    prompt: "Write the plan of the berths for the pilots.",
    session: "harbour",
    times: { kind: "cron", expression: "0 7 * * *", tz: "Europe/Berlin" },
  });
  const { secret } = await client.createToken({ name: "phone", scope: "chat" });
  await createClient({ url: server.url, token: secret }).status();
  await fillTrip(home);
  const db = openServerDatabase(setting.home);
  const { people } = new ChannelStore(db);
  people.codeFor("pilots", "ann@example.org", "Ann");
  const { code = "" } = people.codeFor("pilots", "ben@example.org", "Ben");
  db.close();
  await client.board.approve(code);
  return { ...home, turn };
}
