/** A long run: the host in a process of its own, the scripted model in this one. */
import { fork } from "node:child_process";
import { join } from "node:path";
import type { CompactionLane, CompactionTrigger } from "../../../packages/contract/src/host/events.ts";
import { startServer, type Protocol } from "../../servers/server.ts";
import { Conversation } from "./conversation.ts";
import type { EngineKind } from "./engines.ts";
import type { Shape } from "./words.ts";

export interface Job {
  protocol: Protocol;
  url: string;
  window: number;
  engine: EngineKind;
  shape: Shape;
  turns: number;
  /** The turn whose memory is compared with the end. */
  memoryFrom: number;
}

export interface CompactionSeen {
  turn: number;
  /** Requests of the session before it. */
  request: number;
  lane: CompactionLane;
  handledBy: string;
  trigger: CompactionTrigger;
  tokensBefore: number;
  tokensAfter: number;
  ms: number;
}

export interface MemorySample {
  turn: number;
  /** Resident memory of the running process. */
  runningMiB: number;
  /** Resident memory after the collector has released what it can, including the young generation's spare pages. */
  settledMiB?: number;
}

export interface Report {
  compactions: CompactionSeen[];
  failedCompactions: string[];
  degraded: string[];
  notCompleted: number[];
  /** Calls of the plugin's tool, and how many of them came before. */
  toolCalls: number;
  repeatedCalls: number;
  /** Of all requests, by the receipts: tokens, and those of the prefix shared with the request before. */
  requestTokens: number;
  sharedTokens: number;
  wallMs: number;
  memory: MemorySample[];
  inputsInTranscript: number;
  /** Hits of a search for the word of turn 3 in the user's messages. */
  found: number;
}

export interface LongRunOptions {
  engine: EngineKind;
  shape: Shape;
  turns: number;
  bias: number;
  protocol?: Protocol;
  window?: number;
  memoryFrom?: number;
  /**
   * All threads of the host share one arena of glibc's allocator. Otherwise each of V8's helper threads keeps pages of its own, 5 to 15 MiB
   * more as they come into use, and a leak of that size would not show. Default false.
   */
  oneArena?: boolean;
}

export async function longRun(
  options: LongRunOptions,
): Promise<{ report: Report; conversation: Conversation }> {
  const { engine, shape, turns, bias, protocol = "openai-completions", window = 32_000 } = options;
  const intercepts = engine === "intercepting";
  const conversation = new Conversation({ protocol, shape, window, bias, intercepts });
  const server = await startServer({
    protocol,
    script: (request) => {
      // They are not needed again, and thousands of bodies are hundreds of megabytes.
      server.requests.length = 0;
      return conversation.reply(request);
    },
  });
  try {
    const { memoryFrom = Math.min(200, turns) } = options;
    const env = options.oneArena === true ? { MALLOC_ARENA_MAX: "1" } : {};
    const job = { protocol, url: server.url, window, engine, shape, turns, memoryFrom };
    const report = await host(job, { ...process.env, ...env });
    return { report, conversation };
  } finally {
    await server.close();
  }
}

function host(job: Job, env: NodeJS.ProcessEnv): Promise<Report> {
  return new Promise((resolve, reject) => {
    const child = fork(join(import.meta.dirname, "host-process.ts"), { env, execArgv: ["--expose-gc"] });
    child.once("message", (answer: { report?: Report; error?: string }) => {
      if (answer.report) resolve(answer.report);
      else reject(new Error(answer.error ?? "the host reported nothing"));
    });
    child.once("exit", (code) => reject(new Error(`the host ended with code ${code} before its report`)));
    child.send(job);
  });
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

/** Medians of resident memory around the two turns, after collection. */
export function memoryGrowth(
  report: Report,
  memoryFrom: number,
): { from: number; to: number; growth: number } {
  const settled = report.memory.filter((sample) => sample.settledMiB !== undefined);
  const medianOf = (samples: readonly MemorySample[]): number =>
    median(samples.map((sample) => sample.settledMiB ?? NaN));
  const from = medianOf(settled.filter(({ turn }) => turn <= memoryFrom));
  const to = medianOf(settled.filter(({ turn }) => turn > memoryFrom));
  return { from, to, growth: to - from };
}

/** Turns between each compaction and the one before it. */
export function turnsBetween(compactions: readonly { turn: number }[]): number[] {
  return compactions.slice(1).map(({ turn }, index) => turn - (compactions[index]?.turn ?? 0) - 1);
}
