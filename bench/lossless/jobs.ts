/** Jobs of the store's benchmark that run in their own processes: each starts with a clean heap and an idle loop. */
import { closeSync, createWriteStream, openSync, readSync, statSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import type {
  MessageEntry,
  TranscriptCursor,
  TranscriptEntry,
} from "../../packages/contract/src/session/transcript.ts";
import { isUnmerged } from "../../packages/lossless/src/store/search/backlog.ts";
import { connect } from "../../packages/lossless/src/store/open-database.ts";
import { openLosslessStore, type LosslessStore } from "../../packages/lossless/src/store/lossless-store.ts";
import { mulberry32 } from "../generate.ts";
import { entries, plantedWord, PLANT_EVERY, type Language } from "./corpus.ts";

const SEED = 7;
export const SESSION = "bench";
/** As the host's cursor reads: so many bytes, then other work. */
const SLICE = 256 * 1024;
/** The size of a large context: about 400 messages. */
const WALK_TOKENS = 160_000;

export interface Job {
  name: keyof typeof JOBS;
  folder: string;
  count: number;
  language?: Language;
  /** Of an adoption: whether it ends when all is stored, or when all is searchable. */
  index?: "now" | "later";
  /** Folder of the transcript, if another one. */
  from?: string;
  /** Number of repetitions of the timed work. */
  runs?: number;
}

export type Figures = Record<string, number>;

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function transcriptFile(folder: string): string {
  return `${folder}/transcript.jsonl`;
}

/** Writes a transcript of messages; its bytes. */
async function write({ folder, count, language = "latin" }: Job): Promise<Figures> {
  const stream = createWriteStream(transcriptFile(folder));
  let bytes = 0;
  for (const entry of entries(SEED, count, { language })) {
    const line = `${JSON.stringify(entry)}\n`;
    bytes += Buffer.byteLength(line);
    if (!stream.write(line)) await once(stream, "drain");
  }
  stream.end();
  await once(stream, "close");
  return { bytes };
}

/** A cursor over a file, as far as an adoption at first sight needs one. */
function fileCursor(file: string): TranscriptCursor {
  return {
    async *forward() {
      const fd = openSync(file, "r");
      const buffer = Buffer.alloc(SLICE);
      let rest: Buffer = Buffer.alloc(0);
      for (let size = readSync(fd, buffer); size > 0; size = readSync(fd, buffer)) {
        const bytes = Buffer.concat([rest, buffer.subarray(0, size)]);
        const end = bytes.lastIndexOf(10) + 1;
        rest = bytes.subarray(end);
        for (const line of bytes.toString("utf8", 0, end).split("\n"))
          if (line !== "") yield JSON.parse(line) as TranscriptEntry;
        await setImmediate();
      }
      closeSync(fd);
    },
    async *backward() {
      // Called only for a session that is known.
    },
    get: async () => undefined,
  };
}

/** Bytes of the database, which includes its log once it is closed. */
function databaseBytes(folder: string): number {
  return statSync(`${folder}/lossless.db`).size;
}

/** Time, longest stall of the event loop and memory of adopting a transcript. */
async function adopt({ folder, from = folder, index = "now" }: Job): Promise<Figures> {
  const store = openLosslessStore(folder);
  await setImmediate();
  const idle = process.memoryUsage.rss();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let peak = 0;
  const sampler = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 50);
  delay.enable();
  const start = performance.now();
  await store.adopt(SESSION, fileCursor(transcriptFile(from)), { index });
  const ms = performance.now() - start;
  delay.disable();
  clearInterval(sampler);
  await merged(store.file);
  await store.close();
  const residentMb = (peak - idle) / 1e6;
  return { ms, stallMs: delay.max / 1e6, residentMb, file: databaseBytes(folder) };
}

/** A history that is generated while it is adopted; the size of its database. */
async function fill({ folder, count, language = "latin" }: Job): Promise<Figures> {
  const store = openLosslessStore(folder);
  await store.adopt(SESSION, {
    async *forward() {
      yield* entries(SEED, count, { language });
    },
    async *backward() {
      // Called only for a session that is known.
    },
    get: async () => undefined,
  });
  const adopted = performance.now();
  await merged(store.file);
  const mergeMs = performance.now() - adopted;
  await store.close();
  return { file: databaseBytes(folder), mergeMs };
}

/** The index is merged in pauses after the adoption; a running host reaches that state too. */
async function merged(file: string): Promise<void> {
  const db = connect(file);
  while (isUnmerged(db)) await new Promise((resolve) => setTimeout(resolve, 200));
  db.close();
}

/** The unique word of a turn. */
function turnWord(turn: number): string {
  return `turn${turn.toString(36)}only`;
}

/** Turns of ten messages, each with its own word, at the end of a session. */
function* turnsAfter(leafId: string | null, runs: number): Generator<MessageEntry[]> {
  let turn: MessageEntry[] = [];
  let count = 0;
  for (const entry of entries(SEED + 1, runs * 10, { prefix: "n", parentId: leafId })) {
    const { message } = entry;
    if (turn.length === 0) message.content = [{ type: "text", text: `a wish with ${turnWord(count)} in it` }];
    turn.push(entry);
    if (turn.length < 10) continue;
    yield turn;
    turn = [];
    count += 1;
  }
}

/** Turns at the end of a long session, in sequence; then each with a search for its new word. */
async function turns({ folder, runs = 200 }: Job): Promise<Figures> {
  const store = openLosslessStore(folder);
  const samples: number[] = [];
  const searches: number[] = [];
  let missed = 0;
  let count = 0;
  const all = Array.from(turnsAfter(store.session(SESSION)?.leafId ?? null, 2 * runs));
  for (const turn of all) {
    const start = performance.now();
    store.ingestTurn(SESSION, turn);
    if (count < runs) samples.push(performance.now() - start);
    else {
      const asked = performance.now();
      const [hit] = await store.search({ query: turnWord(count), limit: 20 });
      // The first one indexes all the turns that came without a pause.
      if (count > runs) searches.push(performance.now() - asked);
      if (hit?.entryId !== turn[0]?.id) missed += 1;
    }
    count += 1;
    await setImmediate();
  }
  await store.close();
  return {
    p50: quantile(samples, 0.5),
    p95: quantile(samples, 0.95),
    searchP95: quantile(searches, 0.95),
    missed,
  };
}

function walks(store: LosslessStore, runs: number, before: () => string | undefined): number[] {
  const samples: number[] = [];
  for (let index = -5; index < runs; index++) {
    const id = before();
    const start = performance.now();
    store.walkBack(SESSION, { maxTokens: WALK_TOKENS, ...(id === undefined ? {} : { before: id }) });
    if (index >= 0) samples.push(performance.now() - start);
  }
  return samples;
}

async function walk({ folder, count, runs = 200 }: Job): Promise<Figures> {
  const store = openLosslessStore(folder);
  const random = mulberry32(SEED);
  const atEnd = walks(store, runs, () => undefined);
  const anywhere = walks(
    store,
    runs,
    () => store.at(SESSION, Math.floor(count * (0.1 + 0.9 * random())))?.entryId,
  );
  await store.close();
  return {
    p50: quantile(atEnd, 0.5),
    p95: quantile(atEnd, 0.95),
    anywhereP50: quantile(anywhere, 0.5),
    anywhereP95: quantile(anywhere, 0.95),
  };
}

/** Words of the transcript, common ones and rare ones, alone and together. */
function queries(count: number, runs: number): { kind: string; query: string }[] {
  const random = mulberry32(SEED);
  const planted = (): string =>
    plantedWord(PLANT_EVERY * (1 + Math.floor(random() * (count / PLANT_EVERY - 1))));
  const common = ["const", "test", "src", "path true", "npm test", "const src read", "line path"];
  return Array.from({ length: runs }, (_, index) => {
    const word = common[index % common.length] ?? "const";
    const kind = ["common", "rare", "mixed"][index % 3] ?? "common";
    return { kind, query: kind === "common" ? word : kind === "rare" ? planted() : `${word} ${planted()}` };
  });
}

async function search({ folder, count, runs = 150 }: Job): Promise<Figures> {
  const store = openLosslessStore(folder);
  const samples: Record<string, number[]> = { common: [], rare: [], mixed: [], all: [] };
  let missed = 0;
  for (const { kind, query } of queries(count, runs)) {
    const start = performance.now();
    const hits = await store.search({ query, limit: 20 });
    const ms = performance.now() - start;
    samples[kind]?.push(ms);
    samples["all"]?.push(ms);
    if (kind !== "common" && !hits[0]?.snippet.includes(query.split(" ").at(-1) ?? "")) missed += 1;
  }
  await store.close();
  const figures: Figures = { missed };
  for (const [kind, values] of Object.entries(samples)) figures[kind] = quantile(values, 0.95);
  return figures;
}

export const JOBS = { write, adopt, fill, turns, walk, search };
