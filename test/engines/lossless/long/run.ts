/** A long run with the engine `lossless`: the host in a separate process, the scripted model in this one. */
import { fork } from "node:child_process";
import { join } from "node:path";
import { startServer } from "../../../servers/server.ts";
import { Ledger } from "./ledger.ts";
import type { Shape } from "./talk.ts";

export const WINDOW = 32_000;
/** Turns whose costs are counted together. */
export const BLOCK = 10;
/** Number of inputs that are searched at the end. */
export const LOOKED_FOR = 50;

export interface Job {
  url: string;
  window: number;
  shape: Shape;
  turns: number;
  /** `none`: no model writes summaries. */
  summaries: "model" | "none";
  /** The turn whose memory is compared with the end; optional. */
  memoryFrom?: number;
}

/** Costs of a block in the host's process, per turn with its background work. */
export interface Cost {
  /** Last turn of the block. */
  turn: number;
  /** SQLite statements, and rows that they returned. */
  statements: number;
  rows: number;
}

export interface Report {
  compactions: { lane: string; handledBy: string; turn: number }[];
  failedCompactions: string[];
  degraded: string[];
  notCompleted: number[];
  costs: Cost[];
  /** Resident memory after a full garbage collection, MiB. */
  memoryBefore: number;
  memoryAfter: number;
  /** How many of the `LOOKED_FOR` inputs the engine's store finds by their text. */
  found: number;
  debts: number;
  wallMs: number;
}

export interface LongRunOptions {
  shape: Shape;
  turns: number;
  bias: number;
  window?: number;
  summaries?: Job["summaries"];
  memoryFrom?: number;
}

export async function longRun(options: LongRunOptions): Promise<{ report: Report; ledger: Ledger }> {
  const { shape, turns, bias, window = WINDOW, summaries = "model" } = options;
  const ledger = new Ledger({ shape, window, bias });
  const server = await startServer({
    protocol: "openai-completions",
    script: (request) => {
      // Not needed again, and thousands of bodies take hundreds of megabytes.
      server.requests.length = 0;
      return ledger.reply(request);
    },
  });
  try {
    const { memoryFrom } = options;
    const measured = memoryFrom === undefined ? {} : { memoryFrom };
    const job: Job = { url: server.url, window, shape, turns, summaries, ...measured };
    return { report: await host(job), ledger };
  } finally {
    await server.close();
  }
}

function host(job: Job): Promise<Report> {
  return new Promise((resolve, reject) => {
    // One arena of glibc's allocator: otherwise the pages of V8's helper threads vary by up to 15 MiB.
    const env = { ...process.env, MALLOC_ARENA_MAX: "1" };
    const child = fork(join(import.meta.dirname, "host.ts"), { env, execArgv: ["--expose-gc"] });
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
