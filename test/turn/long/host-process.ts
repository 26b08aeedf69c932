/**
 * The host of a long run, in a process of its own so that its memory can be measured. Gets a job over the channel of `fork`, runs its
 * turns, and reports once. Needs `--expose-gc`.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as pause } from "node:timers/promises";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { modelConfig } from "../setting.ts";
import { engineOf } from "./engines.ts";
import type { Job, Report } from "./job.ts";
import { NOTES, TOOL, inputOf, notesText, rareWord, resultOf, type Shape } from "./words.ts";

/** Samples of memory around a turn, of which the median counts. */
const SAMPLES = 9;
/** Turns between two samples in between. */
const SAMPLE_EVERY = 100;
const MIB = 2 ** 20;

class LongRun {
  readonly #job: Job;
  readonly #root = mkdtempSync(join(tmpdir(), "pagurus-long-"));
  readonly report: Report = {
    compactions: [],
    failedCompactions: [],
    degraded: [],
    notCompleted: [],
    toolCalls: 0,
    repeatedCalls: 0,
    requestTokens: 0,
    sharedTokens: 0,
    wallMs: 0,
    memory: [],
    inputsInTranscript: 0,
    found: 0,
  };
  readonly #keys = new Set<string>();
  #requests = 0;
  #began = 0;

  constructor(job: Job) {
    this.#job = job;
  }

  async run(): Promise<Report> {
    const { turns } = this.#job;
    const pagurus = await this.#open();
    try {
      const start = performance.now();
      for (let turn = 1; turn <= turns; turn++) {
        await this.#turn(pagurus, turn);
        await this.#sample(turn);
      }
      this.report.wallMs = performance.now() - start;
      this.report.repeatedCalls = this.report.toolCalls - this.#keys.size;
      await this.#readBack(pagurus);
      return this.report;
    } finally {
      await pagurus.close();
      rmSync(this.#root, { recursive: true, force: true });
    }
  }

  #open(): Promise<Pagurus> {
    const { protocol, url, window, engine, shape } = this.#job;
    for (let index = 0; index < NOTES; index++) {
      writeFileSync(join(this.#root, `notes-${index}.txt`), notesText(index));
    }
    const home = join(this.#root, "home");
    mkdirSync(home, { mode: 0o700 });
    const made = engineOf(engine);
    return createPagurus({
      home,
      env: { PATH: process.env["PATH"], HOME: this.#root, PAGURUS_NO_PROBE: "1" },
      ...(made ? { engines: { [made.info.id]: () => made } } : {}),
      plugins: {
        gauges: (api) =>
          api.registerTool({
            name: TOOL,
            description: "Reads one entry of the gauge's log.",
            parameters: { type: "object", properties: { key: { type: "string" } }, required: ["key"] },
            execute: async (params) => {
              const key = String(params["key"]);
              this.#keys.add(key);
              this.report.toolCalls += 1;
              return { content: [{ type: "text", text: resultOf(shape, key) }], isError: false };
            },
          }),
      },
      config: modelConfig(
        protocol,
        url,
        { contextWindow: window },
        {
          agents: { defaults: { maxSteps: 1_000 } },
          logging: { level: "silent" },
          ...(made ? { plugins: { slots: { contextEngine: made.info.id } } } : {}),
        },
      ),
    });
  }

  async #turn(pagurus: Pagurus, turn: number): Promise<void> {
    const prompt = inputOf(this.#job.shape, turn);
    let last: TurnEvent["type"] | undefined;
    for await (const event of pagurus.run({ prompt, cwd: this.#root })) {
      last = event.type;
      this.#note(event, turn);
    }
    if (last !== "turn.completed") this.report.notCompleted.push(turn);
  }

  #note(event: TurnEvent, turn: number): void {
    const { report } = this;
    if (event.type === "model.request") {
      this.#requests += 1;
      report.requestTokens += event.tokens;
      report.sharedTokens += event.sharedTokens;
    } else if (event.type === "compaction.started") this.#began = performance.now();
    else if (event.type === "compaction.completed") {
      const { lane, handledBy, trigger, tokensBefore, tokensAfter } = event;
      const ms = performance.now() - this.#began;
      report.compactions.push({
        turn,
        request: this.#requests,
        lane,
        handledBy,
        trigger,
        tokensBefore,
        tokensAfter,
        ms,
      });
    } else if (event.type === "compaction.failed")
      report.failedCompactions.push(`turn ${turn}: ${event.reason}`);
    else if (event.type === "context.degraded")
      report.degraded.push(`turn ${turn}: ${event.stage}: ${event.reason}`);
    else if (event.type === "turn.failed") report.degraded.push(`turn ${turn}: ${event.error.message}`);
  }

  async #sample(turn: number): Promise<void> {
    const { turns, memoryFrom } = this.#job;
    const near = (end: number): boolean => turn > end - SAMPLES && turn <= end;
    const settles = near(memoryFrom) || near(turns);
    if (!settles && turn % SAMPLE_EVERY !== 0) return;
    const runningMiB = process.memoryUsage.rss() / MIB;
    if (!settles) this.report.memory.push({ turn, runningMiB });
    else this.report.memory.push({ turn, runningMiB, settledMiB: await settledMiB() });
  }

  /** Content of the transcript and its index at the end. */
  async #readBack(pagurus: Pagurus): Promise<void> {
    const store = pagurus.sessions();
    const open = new Set(inputsOf(this.#job.shape, this.#job.turns));
    const reader = store.openReader("main");
    for await (const entry of reader.cursor.forward()) {
      if (entry.type !== "message" || entry.message.role !== "user") continue;
      const { content } = entry.message;
      const text =
        typeof content === "string"
          ? content
          : content.map((part) => (part.type === "text" ? part.text : "")).join("");
      if (open.delete(text)) this.report.inputsInTranscript += 1;
    }
    reader.close();
    this.report.found = store.search(rareWord(3)).filter((hit) => hit.role === "user").length;
  }
}

/**
 * Resident memory after the most thorough collection there is. A plain `gc()` leaves the young generation as large as at its busiest moment
 * (up to 100 MiB, whenever that was), which has no relation to what the host keeps.
 */
async function settledMiB(): Promise<number> {
  assert.ok(globalThis.gc, "the process needs --expose-gc");
  globalThis.gc({ type: "major", execution: "sync", flavor: "last-resort" });
  await pause();
  return process.memoryUsage.rss() / MIB;
}

function inputsOf(shape: Shape, turns: number): string[] {
  return Array.from({ length: turns }, (_, index) => inputOf(shape, index + 1));
}

process.once("message", (job: Job) => {
  new LongRun(job).run().then(
    (report) => process.send?.({ report }, () => process.disconnect()),
    (error: unknown) =>
      process.send?.({ error: error instanceof Error ? error.stack : String(error) }, () => process.exit(1)),
  );
});
