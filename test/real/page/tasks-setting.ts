/** A home of a person who has used the page yesterday: conversations, a compaction, a price, a channel where a person asks to speak, Codex. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { ChannelStore } from "../../../packages/channels/src/channel-store.ts";
import { createClient, type PagurusClient } from "../../../packages/client/src/index.ts";
import { openServerDatabase } from "../../../packages/inbox/src/server-database.ts";
import { buildPage } from "../../server/built-page.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startServer, type ModelServer, type ReplyStep } from "../../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { readBody } from "../../turn/wire-bodies.ts";
import { codexBinary } from "../codex-binary.ts";
import { openBrowser, openPage } from "../inspector-setting.ts";

const PROTOCOL = "openai-responses";
/** A slow machine starts a program in this time, ms; nothing is measured by it. */
const PATIENCE_MS = 60_000;

export interface TasksHome {
  setting: Setting;
  server: ServeProcess;
  client: PagurusClient;
  browser: Browser;
  model: ModelServer;
  /** The page of the owner, in a window of this size, at a place such as `#/`. */
  open(options: { width: number; height: number; touch?: boolean; hash?: string }): Promise<Page>;
  close(): Promise<void>;
}

async function reply(request: Parameters<typeof readBody>[1], index: number): Promise<ReplyStep> {
  const { messages } = readBody(PROTOCOL, request);
  const last = messages.at(-1);
  const words = last?.text ?? "";
  const usage = { input: 2_000 + 500 * index, cacheRead: 0, output: 100 };
  if (words.includes("</transcript>")) return { text: "The Heron has berth 7.", usage };
  if (words.includes("never ends")) await new Promise(() => undefined);
  if (last?.role !== "tool" && words.includes("make the file"))
    return {
      text: "I make it.",
      toolCalls: [{ id: `c${index}`, name: "shell", arguments: { command: "echo made > made.txt" } }],
      usage,
    };
  if (words.includes("berth")) return { text: "The Heron lies at berth 7, by the old crane.", usage };
  return { text: `Answer to ${words.split("\n").at(-1) ?? ""}`, usage };
}

function configOf(model: ModelServer): Record<string, unknown> {
  const config = modelConfig(
    PROTOCOL,
    model.url,
    { cost: { input: 3, output: 15 } },
    {
      agents: { defaults: { permission: { mode: "ask", sandbox: "off" } } },
      plugins: {
        slots: { contextEngine: "lossless" },
        entries: { codex: { config: { command: codexBinary(), sandbox: "danger-full-access" } } },
      },
      channels: { pilots: { kind: "webhook", enabled: false, secret: "a-secret-of-the-webhook" } },
    },
  ) as { models: { providers: { test: { models: object[] } } } };
  config.models.providers.test.models.push({ id: "small", contextWindow: 60_000, maxTokens: 4_000 });
  return config as unknown as Record<string, unknown>;
}

async function fill(client: PagurusClient, server: ServeProcess, setting: Setting): Promise<void> {
  const ended = async (id: string): Promise<void> => void (await server.ended(id));
  for (const prompt of ["Where does the Heron lie? Which berth?", "And tomorrow?", "Thank you."])
    await ended((await client.postTurn("harbour", { prompt })).id);
  await client.rename("harbour", "The berths");
  for (let at = 0; at < 5; at++)
    await ended(
      (await client.postTurn("summed", { prompt: `Old cargo list ${at}: ${"ropes ".repeat(800)}` })).id,
    );
  await ended((await client.compact("summed")).id);
  await ended((await client.postTurn("summed", { prompt: "And the day after?" })).id);
  await ended((await client.postTurn("plain", { prompt: "A plain question" })).id);
  const db = openServerDatabase(setting.home);
  new ChannelStore(db).people.codeFor("pilots", "ann@example.org", "Ann");
  db.close();
}

export async function openTasksHome(): Promise<TasksHome> {
  const undo: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    await buildPage();
    const model = await startServer({ protocol: PROTOCOL, script: reply });
    undo.push(() => model.close());
    const setting = makeSetting(configOf(model));
    undo.push(() => setting.remove());
    const codexHome = join(setting.root, "codex");
    mkdirSync(codexHome);
    const server = await ServeProcess.start({ ...setting, env: { ...setting.env, CODEX_HOME: codexHome } });
    undo.push(() => server.kill());
    const client = createClient({ url: server.url, token: server.key });
    await fill(client, server, setting);
    const browser = await openBrowser();
    undo.push(() => browser.close());
    const open: TasksHome["open"] = async ({ width, height, touch = false, hash = "#/" }) => {
      const { page } = await openPage(browser, { viewport: { width, height }, hasTouch: touch });
      page.setDefaultTimeout(PATIENCE_MS);
      const url = await client.browserCode({ scope: "admin" });
      await page.goto(url.replace(/#\/sign-in\/([\w-]+).*$/, `#/sign-in/$1${hash.slice(1)}`));
      return page;
    };
    return { setting, server, client, browser, model, open, close };
  } catch (error) {
    await close();
    throw error;
  }
}
