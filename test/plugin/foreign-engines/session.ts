/**
 * Runs a session on an engine written for another host: turns with tool calls and compactions on the embedded runtime and a
 * scripted endpoint, and records what the plugin used of the host. For tests and for `scripts/foreign-engines.ts`; the plugin
 * is loaded unchanged from its folder by the real loader.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { Degradation, TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { StatusReport } from "../../../packages/contract/src/host/status.ts";
import { readPluginManifest } from "../../../packages/host/src/plugin/manifest.ts";
import { startServer, type RecordedRequest, type ReplyStep } from "../../servers/server.ts";
import { modelConfig } from "../../turn/setting.ts";
import { watchEngines, type EngineUse } from "./watch.ts";

export interface ForeignSession {
  /** Folder of the plugin; the slot gets its id. */
  folder: string;
  /** Folder for home, workspace and everything else; an existing session is continued. */
  root: string;
  /** Number of the last turn. */
  turns: number;
  /** Number of the first one; default 1. */
  firstTurn?: number;
  /** Turns after which `/compact` is sent. */
  compactAfter: readonly number[];
  /** Number of `/compact` tries, a second apart: an engine may be compacting on its own. Default 1. */
  compactTries?: number;
  /** `plugins.entries.<id>.config`. */
  pluginConfig?: unknown;
  /** Where the engine has another id than its plugin. */
  engineId?: string;
  /** Of the model, tokens; default 100,000. */
  contextWindow?: number;
  /** Called after each turn, with its number. */
  afterTurn?: (turn: number, pagurus: Pagurus) => Promise<void> | void;
}

export interface ForeignReport {
  engineId: string;
  status: Pick<StatusReport, "engine" | "problems" | "degraded">;
  completed: number;
  failures: string[];
  /** The last try of each; `refusals` are the reasons of the earlier ones. */
  compactions: {
    compacted: boolean;
    reason?: string;
    tokensBefore?: number;
    tokensAfter?: number;
    refusals: string[];
  }[];
  /** Conversation texts that the transcript lacks. */
  lostWords: string[];
  words: number;
  /** Requests in which a tool result does not follow its call. */
  invalidRequests: string[];
  /** Messages in the newest request of a turn, and in the largest one. */
  lastRequest: number;
  largestRequest: number;
  /** Requests that asked for a summary. */
  summaryRequests: number;
  degraded: string[];
  /** The plugin's module was transformed before it ran. */
  throughJiti: boolean;
  use: EngineUse;
}

const SESSION = "main";
/** Characters of each file that the model reads. */
const FILE_CHARS = 3_000;

/** Runs the session and closes the host. Throws on a defect of the host. */
export async function runForeignSession(options: ForeignSession): Promise<ForeignReport> {
  const { folder, root, turns, compactAfter, firstTurn = 1 } = options;
  const engineId = options.engineId ?? readPluginManifest(folder).id;
  const workspace = join(root, "work");
  mkdirSync(workspace, { recursive: true });
  for (let turn = 1; turn <= turns; turn++)
    writeFileSync(join(workspace, `file-${turn}.txt`), fileText(turn));
  const server = await startServer({ protocol: "openai-completions", script: answer });
  const watch = watchEngines(engineId);
  const model = options.contextWindow === undefined ? {} : { contextWindow: options.contextWindow };
  const pagurus = await createPagurus({
    home: join(root, "home"),
    env: { ...process.env, PAGURUS_NO_PROBE: "1" },
    config: modelConfig("openai-completions", server.url, model, {
      agents: { defaults: { workspace } },
      plugins: {
        slots: { contextEngine: engineId },
        load: { paths: [folder] },
        entries: { [engineId]: { enabled: true, config: options.pluginConfig ?? {} } },
      },
    }),
  });
  const failures: string[] = [];
  const degraded: string[] = [];
  const compactions: ForeignReport["compactions"] = [];
  const note = (found: readonly { stage: string; reason: string }[]): void => {
    for (const { stage, reason } of found) degraded.push(`${stage}: ${reason}`);
  };
  try {
    for (let turn = firstTurn; turn <= turns; turn++) {
      const last = await lastEvent(pagurus, `Turn ${turn}: read file-${turn}.txt (asked-${turn}).`);
      if (last?.type === "turn.completed") note(last.degraded);
      else failures.push(`turn ${turn}: ${JSON.stringify(last)}`);
      await options.afterTurn?.(turn, pagurus);
      if (!compactAfter.includes(turn)) continue;
      const { found, ...made } = await compact(pagurus, options.compactTries ?? 1);
      compactions.push(made);
      note(found);
    }
    const { session, engine, problems, degraded: shown } = await pagurus.status({ sessionKey: SESSION });
    const file = session?.file ?? "";
    const bodies = server.requests.filter(isTurnRequest);
    const texts = conversationTexts(turns);
    const transcript = file === "" ? "" : readFileSync(file, "utf8");
    return {
      engineId,
      status: { engine, problems, degraded: shown },
      completed: turns - firstTurn + 1 - failures.length,
      failures,
      compactions,
      lostWords: texts.filter((word) => !transcript.includes(word)),
      words: texts.length,
      invalidRequests: bodies.flatMap((request) => orphans(request)),
      lastRequest: messagesOf(bodies.at(-1)).length,
      largestRequest: Math.max(0, ...bodies.map((request) => messagesOf(request).length)),
      summaryRequests: server.requests.length - bodies.length,
      degraded,
      throughJiti: existsSync(join(root, "home/cache/plugins")),
      use: watch.use(),
    };
  } finally {
    await pagurus.close();
    await server.close();
    watch.end();
  }
}

async function compact(
  pagurus: Pagurus,
  tries: number,
): Promise<ForeignReport["compactions"][number] & { found: readonly Degradation[] }> {
  const refusals: string[] = [];
  for (;;) {
    const { degraded, details: _details, ...report } = await pagurus.compact({ sessionKey: SESSION });
    if (report.compacted || refusals.length + 1 >= tries) return { ...report, refusals, found: degraded };
    refusals.push(report.reason ?? "no reason");
    await pause(1_000);
  }
}

async function lastEvent(pagurus: Pagurus, prompt: string): Promise<TurnEvent | undefined> {
  let last: TurnEvent | undefined;
  for await (const event of pagurus.run({ prompt, sessionKey: SESSION })) last = event;
  return last;
}

function fileText(turn: number): string {
  const line = `Line of file ${turn}, which nobody would guess. `;
  return `held-${turn}-end\n${line.repeat(Math.ceil(FILE_CHARS / line.length))}\n`;
}

/** Texts of inputs, file contents and answers. */
function conversationTexts(turns: number): string[] {
  return Array.from({ length: turns }, (_, at) => at + 1).flatMap((turn) => [
    `(asked-${turn})`,
    `held-${turn}-end`,
    `answered-${turn}-end`,
  ]);
}

interface WireMessage {
  role: string;
  content?: unknown;
  tool_calls?: { id: string }[];
  tool_call_id?: string;
}

function messagesOf(request: RecordedRequest | undefined): WireMessage[] {
  return (request?.body["messages"] as WireMessage[] | undefined) ?? [];
}

function isTurnRequest(request: RecordedRequest): boolean {
  return Array.isArray(request.body["tools"]);
}

/** Reads the turn's file, every third turn twice; then answers. A request without tools wants a summary. */
function answer(request: RecordedRequest, index: number): ReplyStep {
  if (!isTurnRequest(request)) return { text: `Summary ${index}: files were read and answered one by one.` };
  const messages = messagesOf(request);
  const input = messages.findLastIndex(
    ({ role, content }) => role === "user" && /\(asked-\d+\)/.test(JSON.stringify(content ?? "")),
  );
  if (input < 0) return { text: "Said." };
  const turn = Number(/\(asked-(\d+)\)/.exec(JSON.stringify(messages[input]?.content))?.[1]);
  const done = messages.slice(input + 1).filter(({ role }) => role === "tool").length;
  if (done >= (turn % 3 === 0 ? 2 : 1)) return { text: `Read it. answered-${turn}-end` };
  const args = { path: `file-${turn}.txt` };
  return { text: "Reading.", toolCalls: [{ id: `call-${turn}-${done}`, name: "read", arguments: args }] };
}

/** Tool results without a call before them, and calls without a result after them. */
function orphans(request: RecordedRequest): string[] {
  const found: string[] = [];
  let open = new Set<string>();
  for (const { role, tool_calls, tool_call_id } of messagesOf(request)) {
    if (role === "tool" && !open.delete(tool_call_id ?? "")) found.push(`result ${tool_call_id} has no call`);
    if (role === "tool") continue;
    for (const id of open) found.push(`call ${id} has no result`);
    open = new Set(tool_calls?.map(({ id }) => id));
  }
  return found;
}
