/**
 * The host of a long run, in a separate process so that its memory and its statements can be measured. Receives a job
 * over the channel of `fork`, runs its turns, and reports once. Needs `--expose-gc`.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as pause } from "node:timers/promises";
import { createPagurus } from "../../../../packages/app/src/app.ts";
import type { TurnEvent } from "../../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../../packages/contract/src/host/host.ts";
import type { PluginApi } from "../../../../packages/contract/src/host/plugin.ts";
import { openLosslessStore } from "../../../../packages/lossless/src/store/lossless-store.ts";
import { modelConfig } from "../../../turn/setting.ts";
import { BLOCK, LOOKED_FOR, type Job, type Report } from "./run.ts";
import { berthCode, inputOf, READ_TOOL, resultOf, TOOL, type Shape } from "./talk.ts";

const MIB = 2 ** 20;
/** Memory samples around a turn, of which the minimum counts. */
const SAMPLES = 5;

/** Counts this thread's SQLite statements and rows. */
function countStatements(): { statements: number; rows: number } {
  const counts = { statements: 0, rows: 0 };
  const watch = (of: object, name: string): void => {
    const original = Reflect.get(of, name) as (this: unknown, ...values: unknown[]) => unknown;
    Reflect.set(of, name, function (this: unknown, ...values: unknown[]) {
      const answer = original.apply(this, values);
      counts.statements += 1;
      counts.rows += Array.isArray(answer) ? answer.length : 1;
      return answer;
    });
  };
  for (const name of ["run", "get", "all"]) watch(StatementSync.prototype, name);
  watch(DatabaseSync.prototype, "exec");
  return counts;
}

class LongRun {
  readonly #job: Job;
  readonly #root = mkdtempSync(join(tmpdir(), "pagurus-lossless-long-"));
  readonly #counts = countStatements();
  readonly report: Report = {
    compactions: [],
    failedCompactions: [],
    degraded: [],
    notCompleted: [],
    costs: [],
    memoryBefore: NaN,
    memoryAfter: NaN,
    found: 0,
    debts: 0,
    wallMs: 0,
  };

  constructor(job: Job) {
    this.#job = job;
  }

  async run(): Promise<Report> {
    const { turns, memoryFrom } = this.#job;
    const pagurus = await this.#open();
    try {
      const start = performance.now();
      let before = { ...this.#counts };
      for (let turn = 1; turn <= turns; turn += 1) {
        await this.#turn(pagurus, turn);
        if (turn % BLOCK === 0) {
          // Background work after the turns counts towards them.
          await pagurus.maintain({});
          const { statements, rows } = this.#counts;
          this.report.costs.push({
            turn,
            statements: (statements - before.statements) / BLOCK,
            rows: (rows - before.rows) / BLOCK,
          });
          before = { ...this.#counts };
        }
        if (turn === memoryFrom) this.report.memoryBefore = await settledMiB();
      }
      if (memoryFrom !== undefined) this.report.memoryAfter = await settledMiB();
      this.report.wallMs = performance.now() - start;
      const { engine } = await pagurus.status();
      this.report.debts = engine.state?.debts?.count ?? NaN;
      return this.report;
    } finally {
      await pagurus.close();
      if (this.report.notCompleted.length === 0) await this.#readBack();
      rmSync(this.#root, { recursive: true, force: true });
    }
  }

  #open(): Promise<Pagurus> {
    const { url, window, shape, summaries } = this.#job;
    const home = join(this.#root, "home");
    mkdirSync(home, { mode: 0o700 });
    // The extracts' run compares costs; a search costs a turn more, by how many texts it ranks.
    const recall = summaries !== "none";
    const compaction = summaries === "none" ? { compaction: { model: "offline/extract" } } : {};
    return createPagurus({
      home,
      env: { PATH: process.env["PATH"], HOME: this.#root, PAGURUS_NO_PROBE: "1" },
      plugins: { gauges: (api) => registerTools(api, shape) },
      config: modelConfig(
        "openai-completions",
        url,
        { contextWindow: window },
        {
          agents: { defaults: { maxSteps: 1_000, ...compaction } },
          logging: { level: "silent" },
          // No hourly limit: the hours of thousands of turns pass in minutes here.
          plugins: {
            slots: { contextEngine: "lossless" },
            entries: { lossless: { config: { summariesPerHour: 1_000_000, recall } } },
          },
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
    if (event.type === "compaction.completed")
      report.compactions.push({ turn, lane: event.lane, handledBy: event.handledBy });
    else if (event.type === "compaction.failed")
      report.failedCompactions.push(`turn ${turn}: ${event.reason}`);
    else if (event.type === "context.degraded")
      report.degraded.push(`turn ${turn}: ${event.stage}: ${event.reason}`);
    else if (event.type === "turn.failed") report.degraded.push(`turn ${turn}: ${event.error.message}`);
  }

  /** Searches inputs from all over the run by the exact string in each of them. */
  async #readBack(): Promise<void> {
    const { turns, shape } = this.#job;
    const store = openLosslessStore(join(this.#root, "home", "agents", "main"));
    for (let step = 1; step <= LOOKED_FOR; step += 1) {
      const turn = Math.max(1, Math.round((step / LOOKED_FOR) * turns));
      const hits = await store.search({ query: berthCode(turn), limit: 5 });
      const texts = store
        .getMany(hits.map(({ entryId }) => entryId))
        .map(({ message }) => JSON.stringify(message));
      if (texts.some((message) => message.includes(JSON.stringify(inputOf(shape, turn)))))
        this.report.found += 1;
    }
    await store.close();
  }
}

function registerTools(api: PluginApi, shape: Shape): void {
  for (const [name, key] of [
    [TOOL, "key"],
    [READ_TOOL, "path"],
  ] as const)
    api.registerTool({
      name,
      description: "Reads the gauge's log or a file of notes.",
      parameters: { type: "object", properties: { [key]: { type: "string" } }, required: [key] },
      execute: async (params) => ({
        content: [{ type: "text", text: resultOf(shape, name, params) }],
        isError: false,
      }),
    });
}

/** Minimum of a few samples after a full garbage collection: the host's retained memory. */
async function settledMiB(): Promise<number> {
  assert.ok(globalThis.gc, "the process needs --expose-gc");
  const samples: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    globalThis.gc({ type: "major", execution: "sync", flavor: "last-resort" });
    await pause();
    samples.push(process.memoryUsage.rss() / MIB);
  }
  return Math.min(...samples);
}

process.once("message", (job: Job) => {
  new LongRun(job).run().then(
    (report) => process.send?.({ report }, () => process.disconnect()),
    (error: unknown) =>
      process.send?.({ error: error instanceof Error ? error.stack : String(error) }, () => process.exit(1)),
  );
});
