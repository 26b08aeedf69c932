/**
 * The token estimate on the half of the corpus that its weights were not fitted on: error against `o200k_base` and speed,
 * compared with the exact tokenizer.
 */
import { estimateTokens } from "../../packages/core/src/tokens/estimate.ts";
import { countExact } from "../../packages/core/src/tokens/exact.ts";
import { type BenchOptions, type BenchRow, withPeer, withTarget } from "../report.ts";
import { KINDS, loadCorpus, PROMISED } from "./corpus.ts";
import { sessionTexts } from "./sessions.ts";

const LARGEST_ERROR = 10;
const LEAST_SPEED = 50;
const LONGEST_RUN_MS = 50;
const RUN_LENGTH = 100_000;
const PEER = "gpt-tokenizer";

/** Milliseconds of the fastest of several rounds: other load only ever slows one down. */
function fastest(rounds: number, work: () => void): number {
  let best = Infinity;
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    work();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

/** Large samples are measured unchanged; small ones until a round takes long enough to be timed. */
function speed(texts: readonly string[], bytes: number, quick: boolean): number {
  const times = Math.max(1, Math.ceil((quick ? 200_000 : 1_000_000) / bytes));
  const ms = fastest(quick ? 5 : 30, () => {
    for (let time = 0; time < times; time++) for (const text of texts) estimateTokens(text);
  });
  return (bytes * times) / 1_000 / ms;
}

async function exactSpeed(texts: readonly string[], bytes: number): Promise<number> {
  let best = Infinity;
  for (let round = 0; round < 3; round++) {
    const start = performance.now();
    for (const text of texts) await countExact(text);
    best = Math.min(best, performance.now() - start);
  }
  return bytes / 1_000 / best;
}

/** Error of the whole, and the bound for 95 % of the pieces of 2,000 characters, in percent. */
async function errors(texts: readonly string[]): Promise<{ whole: number; pieces: number }> {
  let estimated = 0;
  let exact = 0;
  const pieces: number[] = [];
  for (const text of texts) {
    estimated += estimateTokens(text);
    exact += (await countExact(text)) ?? 0;
    for (let at = 0; at < text.length; at += 2_000) {
      const piece = text.slice(at, at + 2_000);
      if (piece.length < 1_000) continue;
      const tokens = (await countExact(piece)) ?? 0;
      pieces.push(Math.abs(estimateTokens(piece) / tokens - 1) * 100);
    }
  }
  pieces.sort((a, b) => a - b);
  return { whole: (estimated / exact - 1) * 100, pieces: pieces[Math.floor(pieces.length * 0.95)] ?? 0 };
}

function errorRow(kind: string, whole: number, promised: boolean): BenchRow {
  const row: BenchRow = { measure: `${kind}: error`, value: whole, unit: "%" };
  if (!promised) return row;
  return { ...row, target: `within ±${LARGEST_ERROR}`, ok: Math.abs(whole) <= LARGEST_ERROR };
}

async function rowsOf(kind: string, texts: readonly string[], quick: boolean): Promise<BenchRow[]> {
  const promised = (PROMISED as readonly string[]).includes(kind);
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const { whole, pieces } = await errors(texts);
  const measured: BenchRow = {
    measure: `${kind}: speed`,
    value: speed(texts, bytes, quick),
    unit: "MB/s",
  };
  const beside = withPeer(measured, PEER, await exactSpeed(texts, bytes));
  return [
    errorRow(kind, whole, promised),
    { measure: `${kind}: 95 % of 2,000-character pieces within ±`, value: pieces, unit: "%" },
    promised ? withTarget(beside, ">=", LEAST_SPEED) : beside,
  ];
}

/** The slowest of several characters, repeated. */
async function runRow(): Promise<BenchRow> {
  let slowest = 0;
  let peer = 0;
  for (const character of ["a", "A", "=", " ", "\n", "0", "é", "中", "😀"]) {
    const text = character.repeat(RUN_LENGTH / character.length);
    slowest = Math.max(
      slowest,
      fastest(3, () => estimateTokens(text)),
    );
    const start = performance.now();
    await countExact(text);
    peer = Math.max(peer, performance.now() - start);
  }
  const row: BenchRow = {
    measure: `${RUN_LENGTH.toLocaleString("en-US")} equal characters`,
    value: slowest,
    unit: "ms",
  };
  return withTarget(withPeer(row, `${PEER}, runs cut first`, peer), "<=", LONGEST_RUN_MS);
}

/** Cuts a list of texts after so many characters. */
function upTo(texts: readonly string[], characters: number): string[] {
  const result: string[] = [];
  let left = characters;
  for (const text of texts) {
    if (left <= 0) break;
    result.push(text.slice(0, left));
    left -= text.length;
  }
  return result;
}

export async function run({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  if ((await countExact("")) === undefined) throw new Error("The benchmark needs gpt-tokenizer; run npm ci.");
  const most = quick ? 60_000 : Infinity;
  const corpus = loadCorpus().filter(({ half }) => half === "test");
  const rows: BenchRow[] = [];
  for (const kind of KINDS) {
    log(`tokens: ${kind}`);
    const texts = corpus.filter((text) => text.kind === kind).map(({ text }) => text);
    if (texts.length > 0) rows.push(...(await rowsOf(kind, upTo(texts, most), quick)));
  }
  const recorded = sessionTexts();
  if (recorded.length > 0) rows.push(...(await rowsOf("recorded sessions", upTo(recorded, most), quick)));
  rows.push(await runRow());
  return rows;
}
