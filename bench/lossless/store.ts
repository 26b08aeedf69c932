/** The store's rows: ingesting, walking, searching, size, memory; the incumbent's figures next to ours. */
import { fork } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { withPeer, withTarget, type BenchOptions, type BenchRow } from "../report.ts";
import { transcriptFile, type Figures, type Job } from "./jobs.ts";

const INCUMBENT = "lossless-claw 0.15.3";

/** Runs a job in its own process, which gets it as its first message. */
export async function inChild(job: { name: string }, file = "child.ts"): Promise<Figures> {
  const child = fork(join(import.meta.dirname, file), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  child.send(job);
  return new Promise((resolve, reject) => {
    let figures: Figures | undefined;
    child.once("message", (message: Figures) => {
      figures = message;
    });
    child.once("exit", (code) =>
      figures ? resolve(figures) : reject(new Error(`the job ${job.name} ended with ${code}`)),
    );
  });
}

type Sign = "<=" | ">=";

export function row(
  measure: string,
  [value, unit]: readonly [number | undefined, string],
  target?: readonly [Sign, number],
  peer?: readonly [label: string, value: number],
): BenchRow {
  const plain: BenchRow = { measure, value: value ?? 0, unit };
  const aimed = target ? withTarget(plain, ...target) : plain;
  return peer ? withPeer(aimed, `${INCUMBENT}, ${peer[0]}`, peer[1]) : aimed;
}

export function sizeName(count: number): string {
  return count.toLocaleString("en-US");
}

/** One folder with the files for `count` messages. */
export class Place {
  readonly folder: string;
  readonly count: number;

  constructor(root: string, name: string, count: number) {
    this.folder = join(root, name);
    this.count = count;
    mkdirSync(this.folder, { mode: 0o700 });
  }

  job(name: Job["name"], more: Partial<Job> = {}): Promise<Figures> {
    return inChild({ name, folder: this.folder, count: this.count, ...more });
  }
}

/** Works on a copy of a session's database, which is removed afterwards. */
export async function onCopy<T>(folder: string, work: (copy: string) => Promise<T>): Promise<T> {
  const copy = `${folder}-copy`;
  const isCopied = (file: string): boolean => basename(file) !== basename(transcriptFile(folder));
  cpSync(folder, copy, { recursive: true, filter: isCopied });
  try {
    return await work(copy);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Bulk ingest is an adoption: with its texts stored only, and with all of them searchable. */
async function adoptionRows(place: Place, root: string, bytes: number): Promise<BenchRow[]> {
  const at = sizeName(place.count);
  const perSecond = ({ ms = 1 }: Figures): number => (place.count / ms) * 1000;
  const stored = await new Place(root, "stored", place.count).job("adopt", {
    from: place.folder,
    index: "later",
  });
  const found = await place.job("adopt");
  const stall = Math.max(stored["stallMs"] ?? 0, found["stallMs"] ?? 0);
  return [
    row(`bulk ingest to ${at}, stored`, [perSecond(stored), "messages/s"], [">=", 25_000], ["100k", 631]),
    row(
      `bulk ingest to ${at}, stored and searchable`,
      [perSecond(found), "messages/s"],
      [">=", 10_000],
      ["100k", 631],
    ),
    row(`adoption of ${at} messages`, [(found["ms"] ?? 0) / 1000, "s"], ["<=", 15], ["100k", 158.6]),
    row("adoption, longest stall of the event loop", [stall, "ms"], ["<=", 20], ["100k", 145_700]),
    row(
      "adoption, memory over the idle process",
      [found["residentMb"], "MB"],
      ["<=", 200],
      ["100k, all", 856],
    ),
    row(
      "database over JSON lines, Latin",
      [(found["file"] ?? 0) / bytes, "ratio"],
      ["<=", 1.6],
      ["2k", 4.39],
    ),
  ];
}

async function turnRows(place: Place): Promise<BenchRow[]> {
  const turn = await place.job("turns");
  const at = sizeName(place.count);
  return [
    row(`ingest of a turn of 10 at ${at}, p50`, [turn["p50"], "ms"]),
    row(`ingest of a turn of 10 at ${at}, p95`, [turn["p95"], "ms"], ["<=", 2], ["10k", 1_200]),
    row(`search for a word of the last turn at ${at}, p95`, [turn["searchP95"], "ms"], ["<=", 30]),
    row("words of the last turn that were not the first hit", [turn["missed"], "turns"], ["<=", 0]),
  ];
}

async function walkRows(place: Place): Promise<BenchRow[]> {
  const walk = await place.job("walk");
  const at = sizeName(place.count);
  return [
    row(`walk of 160k tokens from the end at ${at}, p50`, [walk["p50"], "ms"]),
    row(`walk of 160k tokens from the end at ${at}, p95`, [walk["p95"], "ms"]),
    row(`walk of 160k tokens from anywhere at ${at}, p95`, [walk["anywhereP95"], "ms"]),
  ];
}

async function searchRows(place: Place): Promise<BenchRow[]> {
  const found = await place.job("search");
  const at = sizeName(place.count);
  return [
    row(`search, top 20 at ${at}, p95`, [found["all"], "ms"], ["<=", 30], ["4k", 313]),
    row(`search, common words at ${at}, p95`, [found["common"], "ms"]),
    row(`search, rare words at ${at}, p95`, [found["rare"], "ms"]),
    row(`search, common and rare together at ${at}, p95`, [found["mixed"], "ms"]),
    row("search, planted words that were not the first hit", [found["missed"], "of 100"], ["<=", 0]),
  ];
}

async function chineseRow(root: string, count: number): Promise<BenchRow> {
  const place = new Place(root, "chinese", count);
  const { bytes = 1 } = await place.job("write", { language: "chinese" });
  const { file = 0 } = await place.job("adopt");
  return row("database over JSON lines, Chinese", [file / bytes, "ratio"]);
}

/** Called with folders whose closed database has so many messages. */
export type Visit = (kind: "adopted" | "large", folder: string, count: number) => Promise<void>;

/** `visit` may change its folder where it is `large`; an `adopted` one is used again. */
export async function storeRows(options: BenchOptions, visit?: Visit): Promise<BenchRow[]> {
  const root = mkdtempSync(join(tmpdir(), "pagurus-lossless-"));
  const [middle, large, chinese] = options.quick ? [2_000, 5_000, 1_000] : [100_000, 1_000_000, 20_000];
  try {
    options.log(`lossless: a transcript of ${middle} messages`);
    const adopted = new Place(root, "adopted", middle);
    const { bytes = 1 } = await adopted.job("write");
    options.log("lossless: adoption");
    const rows = await adoptionRows(adopted, root, bytes);
    await visit?.("adopted", adopted.folder, middle);
    rows.push(await chineseRow(root, chinese));
    options.log("lossless: turns and walks");
    rows.push(...(await turnRows(adopted)), ...(await walkRows(adopted)));
    rmSync(adopted.folder, { recursive: true });
    options.log(`lossless: ${large} messages`);
    const big = new Place(root, "large", large);
    const { mergeMs = 0 } = await big.job("fill");
    const what = `merging the index after an adoption of ${sizeName(large)}, in pauses`;
    rows.push(row(what, [mergeMs / 1_000, "s"]));
    rows.push(...(await walkRows(big)), ...(await searchRows(big)));
    await visit?.("large", big.folder, large);
    return rows;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
