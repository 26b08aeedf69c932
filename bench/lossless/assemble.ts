/**
 * The engine's rows: assembling at every size and in every state, during a compaction, and its memory; the incumbent's
 * figures next to ours. Its own are process CPU per call, so ours are shown as such too.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BenchOptions, BenchRow } from "../report.ts";
import type { AssembleJob } from "./assemble-jobs.ts";
import { transcriptFile, type Figures } from "./jobs.ts";
import { inChild, onCopy, Place, row, sizeName, type Visit } from "./store.ts";

/** Runs the jobs of this file and of `recall-time.ts`. */
export const CHILD = "assemble-child.ts";
/** Maximum ms of an assemble (p95), and of one during a compaction (p99: the disk has outliers). */
const MOST_MS = 10;
const MOST_WAIT_MS = 20;
const MOST_MB = 200;

type Peer = readonly [label: string, value: number];

/** Its figures: by messages before any compaction, after one at 10,000, during one. */
const BEFORE: Readonly<Record<number, Peer>> = {
  10_000: ["10k, CPU a call", 2_161],
  100_000: ["100k, CPU a call", 20_693],
};
const AFTER: Peer = ["10k, CPU a call", 932];
const WAITS: Peer = ["waits", 14_800];
const DRAINS: Peer = ["beside its own drain", 3_600];
const RESIDENT: Peer = ["100k, all", 856];

export class EngineBench {
  readonly rows: BenchRow[] = [];
  readonly #options: BenchOptions;
  readonly #turns: number;

  constructor(options: BenchOptions) {
    this.#options = options;
    this.#turns = options.quick ? 10 : 150;
  }

  /** For the databases that the store's benchmark makes. */
  readonly visit: Visit = async (kind, folder, count) => {
    if (kind === "large") {
      this.#options.log(`lossless: assembling in ${count} messages`);
      return this.#compacted(folder, count);
    }
    this.#options.log(`lossless: assembling and memory in ${count} messages`);
    await onCopy(folder, (copy) => this.#fresh(copy, count));
    await onCopy(folder, (copy) => this.#compacted(copy, count));
    await this.#memory(folder, count);
  };

  /** Jobs that need a smaller session. */
  async small(): Promise<void> {
    const { quick, log } = this.#options;
    const root = mkdtempSync(join(tmpdir(), "pagurus-lossless-"));
    const count = quick ? 1_000 : 10_000;
    try {
      log(`lossless: assembling in ${count} messages`);
      const place = new Place(root, "small", count);
      await place.job("write");
      await place.job("adopt");
      await onCopy(place.folder, (copy) => this.#fresh(copy, count));
      await onCopy(place.folder, (copy) => this.#whole(copy, count));
      await onCopy(place.folder, (copy) => this.#compacted(copy, count));
      log("lossless: assembling beside a compaction");
      await onCopy(place.folder, (copy) => this.#waiting(copy));
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  }

  #job(name: AssembleJob["name"], folder: string): Promise<Figures> {
    const job: AssembleJob = { name, folder, turns: this.#turns };
    return inChild(job, CHILD);
  }

  /** `peer` where the target applies. */
  #timing(what: string, figures: Figures, peer: Peer | undefined): void {
    this.rows.push(
      row(`${what}, p50`, [figures["allP50"], "ms"]),
      row(`${what}, p95`, [figures["allP95"], "ms"], peer && ["<=", MOST_MS], peer),
      row(`${what}, longest`, [figures["allMax"], "ms"]),
      row(`${what}, CPU a call`, [figures["allCpu"], "ms"], undefined, peer),
      row(`${what}, CPU a call, p95`, [figures["allCpuP95"], "ms"]),
    );
  }

  async #fresh(folder: string, count: number): Promise<void> {
    const what = `assemble at ${sizeName(count)}, nothing summarized, window of 200k`;
    const figures = await this.#job("fresh", folder);
    this.#timing(what, figures, BEFORE[count]);
    this.rows.push(row(`${what}, the first of a process, with opening`, [figures["coldMs"], "ms"]));
  }

  async #whole(folder: string, count: number): Promise<void> {
    const figures = await this.#job("whole", folder);
    const tokens = ((figures["tokens"] ?? 0) / 1e6).toFixed(1);
    this.#timing(`assemble at ${sizeName(count)}, all ${tokens}M tokens in the context`, figures, undefined);
  }

  async #compacted(folder: string, count: number): Promise<void> {
    const what = `assemble at ${sizeName(count)}, after compaction`;
    const figures = await this.#job("turns", folder);
    this.#timing(what, figures, AFTER);
    this.rows.push(
      row(`${what}: first of a turn, p95`, [figures["firstP95"], "ms"]),
      row(`${what}: later in a turn, p95`, [figures["laterP95"], "ms"]),
      row(`compaction at ${sizeName(count)} without a model, p50`, [figures["compactingP50"], "ms"]),
      row(`compaction at ${sizeName(count)} without a model, longest`, [figures["compactingMax"], "ms"]),
      row(`commit of a turn at ${sizeName(count)}, p50`, [figures["commitP50"], "ms"]),
    );
  }

  async #waiting(folder: string): Promise<void> {
    const figures = await this.#job("waiting", folder);
    for (const [kind, what, peer] of [
      ["compact", "assemble while a compaction with 3 s model calls runs", WAITS],
      ["maintain", "assemble while summaries with 3 s model calls are prepared", DRAINS],
    ] as const) {
      const calls = `of ${figures[`${kind}During`]}, ${figures[`${kind}Calls`]} model calls`;
      this.rows.push(
        row(`${what}, p95`, [figures[`${kind}P95`], "ms"]),
        row(`${what}, p99`, [figures[`${kind}P99`], "ms"], ["<=", MOST_WAIT_MS], peer),
        row(`${what}, longest`, [figures[`${kind}LongestMs`], "ms"]),
        row(`${what}, that ended before it did`, [figures[`${kind}Before`], calls], [">=", 1]),
      );
    }
  }

  async #memory(folder: string, count: number): Promise<void> {
    const place = `${folder}-memory`;
    mkdirSync(place, { mode: 0o700 });
    try {
      cpSync(transcriptFile(folder), transcriptFile(place));
      const figures = await this.#job("memory", place);
      const what = `memory at ${sizeName(count)} over the idle process`;
      this.rows.push(
        row(`${what}, adopting`, [figures["adoptedMb"], "MB"]),
        row(`${what}, serving turns`, [figures["servedMb"], "MB"], ["<=", MOST_MB], RESIDENT),
      );
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  }
}
