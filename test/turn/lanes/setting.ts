/** A host with a recording engine and a scripted model, for tests of the compaction lanes. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type {
  CompactionInterceptRequest,
  CompactionInterceptResult,
  CompactParams,
  CompactResult,
} from "../../../packages/contract/src/engine/engine-compaction.ts";
import type {
  AfterTurnParams,
  AssembleParams,
  AssembleResult,
} from "../../../packages/contract/src/engine/engine-params.ts";
import type { ContextEngine, ContextEngineInfo } from "../../../packages/contract/src/engine/engine.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { PluginApi } from "../../../packages/contract/src/host/plugin.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { delegateCompactionToRuntime } from "../../../packages/host/src/plugin-sdk/index.ts";
import { startServer, type ReplyStep } from "../../servers/server.ts";
import { Bench, eventsOf } from "../in-process.ts";
import { modelConfig, type ModelOptions } from "../setting.ts";
import { readBody, type WireBody } from "../wire-bodies.ts";

/** A summary as the model has to write it, with recognizable words. */
export const MODEL_SUMMARY = [
  "## Goal\nThe scripted model wrote this goal.",
  "## State\nSome of it is done.",
  "## Decisions and constraints\nNone were made.",
  "## Open asks\nThe rest of it.",
].join("\n");
export const ENGINE_SUMMARY = "The engine's compact() wrote this.";
export const INTERCEPTED_SUMMARY = "The engine's interceptCompaction() wrote this.";
export const ID = "recorder";

export interface Calls {
  assemble: AssembleParams[];
  compact: CompactParams[];
  intercept: CompactionInterceptRequest[];
  afterTurn: AfterTurnParams[];
}

export interface EngineSpec {
  info?: Partial<ContextEngineInfo>;
  assemble?: (params: AssembleParams) => AssembleResult;
  compact?: (params: CompactParams) => Promise<CompactResult>;
  /** Null: the engine has no such member. */
  intercept?: ((request: CompactionInterceptRequest) => Promise<CompactionInterceptResult>) | null;
}

/** An engine that records each call. By default it delegates `compact` and answers interceptions. */
export function recordingEngine(spec: EngineSpec = {}): { engine: ContextEngine; calls: Calls } {
  const calls: Calls = { assemble: [], compact: [], intercept: [], afterTurn: [] };
  const { assemble, compact = delegateCompactionToRuntime, intercept = handled } = spec;
  const engine: ContextEngine = {
    info: { id: ID, name: ID, ...spec.info },
    ingest: () => Promise.resolve({ ingested: true }),
    assemble: (params) => {
      calls.assemble.push(params);
      const { messages } = params;
      return Promise.resolve(assemble?.(params) ?? { messages, estimatedTokens: 0 });
    },
    afterTurn: (params) => {
      calls.afterTurn.push(params);
      return Promise.resolve();
    },
    compact: (params) => {
      calls.compact.push(params);
      return compact(params);
    },
    ...(intercept
      ? {
          interceptCompaction: (request: CompactionInterceptRequest) => {
            calls.intercept.push(request);
            return intercept(request);
          },
        }
      : {}),
  };
  return { engine, calls };
}

export function handled(request: CompactionInterceptRequest): Promise<CompactionInterceptResult> {
  const { firstKeptEntryId, tokensBefore } = request;
  return Promise.resolve({ handled: true, summary: INTERCEPTED_SUMMARY, firstKeptEntryId, tokensBefore });
}

/** The engine's own summary of all but the newest closed turn and the live one. */
export async function ownSummary(params: CompactParams): Promise<CompactResult> {
  const { runtimeContext } = params;
  assert.ok(runtimeContext);
  const inputs: string[] = [];
  for await (const entry of runtimeContext.transcript.forward()) {
    if (entry.type !== "message" || entry.message.role !== "user") continue;
    if (entry.turnId !== runtimeContext.turnId) inputs.push(entry.id);
  }
  const firstKeptEntryId = inputs.at(-1);
  assert.ok(firstKeptEntryId);
  const tokensBefore = params.currentTokenCount ?? 0;
  return { ok: true, compacted: true, result: { summary: ENGINE_SUMMARY, firstKeptEntryId, tokensBefore } };
}

/** Plain words with about this many tokens, the same each time. */
export function filler(tokens: number, word = "amber"): string {
  return `${word} `.repeat(tokens).trimEnd();
}

export interface SettingOptions {
  engine?: ContextEngine;
  plugin?: (api: PluginApi) => void;
  model?: ModelOptions;
  compaction?: Record<string, unknown>;
  defaults?: Record<string, unknown>;
  log?: "debug";
  /** Answers of turns, in order, then "ok" for each further request. */
  turns?: ReplyStep[];
  /** Answers of summary requests, in order, then `MODEL_SUMMARY`. */
  summaries?: ReplyStep[];
}

/** Reserve and share are set, so that every engine has the same budget. */
export const RESERVES = { reserveTokens: 4_000, reserveTokensFloor: 0, keepRecentTokens: 7_000 };

export class LaneSetting {
  readonly bench: Bench;
  readonly turns: ReplyStep[];
  readonly summaries: ReplyStep[];
  #config: Record<string, unknown> = {};
  #options: SettingOptions;
  #pagurus: Pagurus | undefined;

  private constructor(bench: Bench, options: SettingOptions, replies: Replies) {
    this.bench = bench;
    this.#options = options;
    this.turns = replies.turns;
    this.summaries = replies.summaries;
  }

  static async open(options: SettingOptions): Promise<LaneSetting> {
    const replies: Replies = { turns: [...(options.turns ?? [])], summaries: [...(options.summaries ?? [])] };
    const server = await startServer({
      protocol: "openai-completions",
      script: (request) => {
        const summary = isSummaryRequest(readBody("openai-completions", request));
        const step = summary
          ? (replies.summaries.shift() ?? { text: MODEL_SUMMARY })
          : (replies.turns.shift() ?? { text: "ok" });
        return { usage: null, ...step };
      },
    });
    const setting = new LaneSetting(new Bench(server), options, replies);
    mkdirSync(setting.home, { mode: 0o700, recursive: true });
    setting.configure(options.compaction ?? RESERVES);
    await setting.restart();
    return setting;
  }

  get home(): string {
    return join(this.bench.root, "home");
  }

  get pagurus(): Pagurus {
    assert.ok(this.#pagurus);
    return this.#pagurus;
  }

  /** Writes the configuration file; `pagurus.reload()` or a new host reads it. */
  configure(compaction: Record<string, unknown>, engineId = this.#options.engine?.info.id): void {
    const { model, defaults, log } = this.#options;
    this.#config = modelConfig(
      "openai-completions",
      this.bench.server.url,
      { contextWindow: 30_000, maxTokens: 1_000, ...model },
      {
        agents: { defaults: { ...defaults, compaction } },
        logging: { level: log ?? "silent" },
        ...(engineId === undefined ? {} : { plugins: { slots: { contextEngine: engineId } } }),
      },
    );
    writeFileSync(join(this.home, "pagurus.json"), JSON.stringify(this.#config), { mode: 0o600 });
  }

  /** A new host of the same home, as a new process would open it. */
  async restart(engine = this.#options.engine): Promise<void> {
    await this.#pagurus?.close();
    const { plugin } = this.#options;
    this.#pagurus = await this.bench.host({
      ...(engine ? { engine } : {}),
      plugin: (api) => {
        api.registerTool(bigTool);
        plugin?.(api);
      },
      more: { config: undefined },
    });
  }

  /** Runs a turn that has to complete; returns its events. */
  ask(prompt: string): Promise<TurnEvent[]> {
    return this.bench.ask(this.pagurus, prompt);
  }

  /** A turn that may fail. */
  run(prompt: string, more: { signal?: AbortSignal } = {}): Promise<TurnEvent[]> {
    return eventsOf(this.pagurus.run({ prompt, cwd: this.bench.root, ...more }));
  }

  compact(focus?: string): ReturnType<Pagurus["compact"]> {
    return this.pagurus.compact({ cwd: this.bench.root, ...(focus === undefined ? {} : { focus }) });
  }

  status(): ReturnType<Pagurus["status"]> {
    return this.pagurus.status({ cwd: this.bench.root });
  }

  bodies(): WireBody[] {
    return this.bench.server.requests.map((request) => readBody("openai-completions", request));
  }

  turnBodies(): WireBody[] {
    return this.bodies().filter((body) => !isSummaryRequest(body));
  }

  summaryBodies(): WireBody[] {
    return this.bodies().filter(isSummaryRequest);
  }

  async entries(sessionId?: string): Promise<TranscriptEntry[]> {
    const reader = this.pagurus.sessions().openReader("main", sessionId);
    try {
      const entries: TranscriptEntry[] = [];
      for await (const entry of reader.cursor.forward()) entries.push(entry);
      return entries;
    } finally {
      reader.close();
    }
  }

  /** Lines of the log with this message. */
  logged(message: string): Record<string, unknown>[] {
    return this.log()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line["msg"] === message);
  }

  log(): string {
    return readFileSync(join(this.home, "logs", "pagurus.log"), "utf8");
  }

  end(): Promise<void> {
    return this.bench.end();
  }
}

interface Replies {
  turns: ReplyStep[];
  summaries: ReplyStep[];
}

/** Returns as many tokens as requested. */
const bigTool: Parameters<PluginApi["registerTool"]>[0] = {
  name: "big",
  description: "Answers at length.",
  parameters: { type: "object", properties: { tokens: { type: "number" } } },
  execute: ({ tokens }) =>
    Promise.resolve({ content: [{ type: "text", text: filler(Number(tokens), "cobalt") }], isError: false }),
};

/** The model calls the tool, so that its result is `tokens` long. */
export function callsBig(tokens: number, id = "call-1"): ReplyStep {
  return { toolCalls: [{ id, name: "big", arguments: { tokens } }] };
}

export function isSummaryRequest(body: WireBody): boolean {
  return body.system.startsWith("You write the summary that replaces the older part of a conversation");
}

const SUMMARY = /<conversation_summary>\n([\s\S]*?)\n<\/conversation_summary>/g;

/** The summary in a request; there is never more than one. A provider may join it to the input after it. */
export function summaryIn(body: WireBody | undefined): string | undefined {
  const found = (body?.messages ?? []).flatMap(({ text }) =>
    [...text.matchAll(SUMMARY)].map(([, summary]) => summary),
  );
  assert.ok(found.length <= 1, "a request holds one summary at most");
  return found[0];
}

export function ofType<T extends TurnEvent["type"]>(
  events: readonly TurnEvent[],
  type: T,
): Extract<TurnEvent, { type: T }>[] {
  return events.filter((event) => event.type === type) as Extract<TurnEvent, { type: T }>[];
}
