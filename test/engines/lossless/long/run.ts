/** A long run with the engine `lossless`: the host in a process of its own, the scripted model in this one. */
import { fork } from "node:child_process";
import { join } from "node:path";
import { startServer } from "../../../servers/server.ts";
import { Ledger } from "./ledger.ts";
import type { Shape } from "./talk.ts";

/** `PAGURUS_PROVE=1`: every run in full length. */
export const FULL = process.env["PAGURUS_PROVE"] === "1";
export const WINDOW = 32_000;
/** Turns whose costs are counted together. */
export const BLOCK = 10;
/** Inputs that are looked for in the end. */
export const LOOKED_FOR = 50;

export interface Job {
  url: string;
  window: number;
  shape: Shape;
  turns: number;
  /** `none`: no model may be asked for a summary. */
  summaries: "model" | "none";
  /** The turn whose memory the end is held against; absent where nobody asks. */
  memoryFrom?: number;
}

/** What the turns of a block cost the host's process, for one turn with its work in the background. */
export interface Cost {
  /** The last one of the block. */
  turn: number;
  /** Statements that SQLite ran, and rows that they gave. */
  statements: number;
  rows: number;
}

export interface Report {
  compactions: { lane: string; handledBy: string; turn: number }[];
  failedCompactions: string[];
  degraded: string[];
  notCompleted: number[];
  costs: Cost[];
  /** Resident memory after the most thorough collection there is, MiB. */
  memoryBefore: number;
  memoryAfter: number;
  /** Of `LOOKED_FOR` inputs from all over the run, those that the engine's store gives back by their words. */
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
      // Nobody looks at them again, and thousands of bodies are hundreds of megabytes.
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
    // One arena of glibc's allocator: else pages of V8's helper threads come and go, up to 15 MiB of them.
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
