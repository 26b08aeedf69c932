/**
 * Fits the weights of the token estimate on the "fit" half of the corpus and prints them for `packages/core/src/tokens/weights.ts`: `node
 * bench/tokens/fit.ts`. Least squares over pieces of 200 characters, each promised kind with the same weight, the others
 * with a part of it; weights cannot be negative and are regularized towards a guess.
 */
import { countExact } from "../../packages/core/src/tokens/exact.ts";
import { weigh } from "../../packages/core/src/tokens/estimate.ts";
import { LONGEST_SIGNS, LONGEST_WORD, SLOT, WEIGHTS } from "../../packages/core/src/tokens/weights.ts";
import { type CorpusText, KINDS, loadCorpus, PROMISED } from "./corpus.ts";
import { repeats } from "./repeats.ts";

const PIECE = 200;
/** How strongly a weight is pulled to the guess; matters for rare features. */
const LEAN = 1e-4;
/** The samples are short, but they are how people write; the compiler's messages are not. */
const SAMPLE_STRESS = 12;
const ROUNDS = 3_000;

interface Row {
  features: Float64Array;
  tokens: number;
  /** Weight of the square of its error. */
  say: number;
}

/** The estimate is linear in its weights: a feature's count is the estimate with that weight 1 and all others 0. */
function featuresOf(text: string): Float64Array {
  const size = WEIGHTS.length;
  const features = new Float64Array(size);
  const only = new Float64Array(size);
  for (let index = 0; index < size; index++) {
    only[index] = 1;
    features[index] = weigh(text, only);
    only[index] = 0;
  }
  return features;
}

function pieces(text: string): string[] {
  const result: string[] = [];
  for (let at = 0; at < text.length; at += PIECE) {
    const piece = text.slice(at, at + PIECE);
    if (piece.length >= PIECE / 4) result.push(piece);
  }
  return result;
}

async function rowsOf(texts: readonly CorpusText[], share: number): Promise<Row[]> {
  const rows: Row[] = [];
  let all = 0;
  for (const { source, text } of texts) {
    const stress = source.includes("samples") ? SAMPLE_STRESS : 1;
    for (const piece of pieces(text)) {
      const tokens = (await countExact(piece)) ?? 0;
      all += tokens * stress;
      // The spread of an error grows with the root of the tokens, so its square is measured against them.
      rows.push({ features: featuresOf(piece), tokens, say: stress / tokens });
    }
  }
  for (const row of rows) row.say *= share / all;
  return rows;
}

/** Pieces that are one token whatever their content; without a bound they would absorb their neighbours' cost. */
const ONE_TOKEN: ReadonlySet<number> = new Set([
  SLOT.bareWord + 1,
  SLOT.digits,
  SLOT.lines,
  SLOT.indent,
  SLOT.blank,
]);

/** Guessed cost of a piece: one token, more where it is long. */
function guess(): Float64Array {
  const weights = new Float64Array(WEIGHTS.length).fill(0.5);
  for (const table of [SLOT.bareWord, SLOT.spacedWord, SLOT.signedWord]) {
    weights[table] = 0.25;
    for (let n = 1; n <= LONGEST_WORD; n++) weights[table + n] = 1 + Math.max(0, n - 6) * 0.12;
  }
  for (const table of [SLOT.bareSigns, SLOT.spacedSigns]) {
    for (let n = 1; n <= LONGEST_SIGNS; n++) weights[table + n] = 0.7 + n * 0.3;
  }
  for (const slot of ONE_TOKEN) weights[slot] = 1;
  weights[SLOT.blankRepeat] = 0.02;
  return weights;
}

/** Coordinate descent on the normal equations, each weight bounded below by 0. */
function solve(rows: readonly Row[]): Float64Array {
  const size = WEIGHTS.length;
  const matrix = new Float64Array(size * size);
  const right = new Float64Array(size);
  for (const { features, tokens, say } of rows) {
    for (let row = 0; row < size; row++) {
      const left = (features[row] ?? 0) * say;
      if (left === 0) continue;
      right[row] = (right[row] ?? 0) + left * tokens;
      for (let column = 0; column < size; column++) {
        matrix[row * size + column] = (matrix[row * size + column] ?? 0) + left * (features[column] ?? 0);
      }
    }
  }
  const prior = guess();
  const weights = Float64Array.from(prior);
  for (let round = 0; round < ROUNDS; round++) {
    for (let row = 0; row < size; row++) {
      if (ONE_TOKEN.has(row)) continue;
      let rest = (right[row] ?? 0) + LEAN * (prior[row] ?? 0);
      for (let column = 0; column < size; column++) {
        if (column !== row) rest -= (matrix[row * size + column] ?? 0) * (weights[column] ?? 0);
      }
      weights[row] = Math.max(0, rest / ((matrix[row * size + row] ?? 0) + LEAN));
    }
  }
  return weights;
}

function print(weights: Float64Array): void {
  const slots = Object.entries(SLOT);
  console.log("export const WEIGHTS: Readonly<Float64Array> = Float64Array.from([");
  for (const [index, [name, start]] of slots.entries()) {
    const end = slots[index + 1]?.[1] ?? weights.length;
    const values = [...weights.subarray(start, end)].map((weight) => Number(weight.toFixed(3)));
    console.log(`  // ${name}\n  ${values.join(", ")},`);
  }
  console.log("]);");
}

async function main(): Promise<void> {
  const corpus = loadCorpus().filter(({ half }) => half === "fit");
  const rows: Row[] = [];
  for (const kind of KINDS) {
    const share = PROMISED.includes(kind) ? 1 : 0.3;
    rows.push(
      ...(await rowsOf(
        corpus.filter((text) => text.kind === kind),
        share,
      )),
    );
  }
  for (const text of repeats()) {
    const tokens = (await countExact(text)) ?? 0;
    rows.push({ features: featuresOf(text), tokens, say: 1e-4 / tokens ** 2 });
  }
  print(solve(rows));
}

await main();
