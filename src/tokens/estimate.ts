import {
  ACCENTED,
  CHARACTER_CLASSES,
  CYRILLIC,
  DIGIT,
  EXTENDED,
  LOWER,
  NEWLINE,
  SIGN,
  SPACE,
  SURROGATE,
  SYMBOL,
  UPPER,
} from "./characters.ts";
import { LONGEST_SIGNS, LONGEST_WORD, SLOT, WEIGHTS } from "./weights.ts";

/** Longer runs of letters are no words; equal neighbours in them are counted apart. */
const RUN = 32;

/** Code units of the texts that are walked in memory that is kept; nearly all are shorter. */
const SCRATCH = 1 << 16;
/** Stands behind the last unit, so that the end of a run is found without asking for the end of the text. */
const END = 1;

type Weights = Readonly<Float64Array>;
/** A text's UTF-16 code units and one more that ends every run. */
type Units = Readonly<Uint16Array>;

/** Room for a text's UTF-16 code units and the one behind them. */
interface Room {
  units: Uint16Array;
  bytes: Buffer;
}

function roomFor(length: number): Room {
  const units = new Uint16Array(length + END);
  return { units, bytes: Buffer.from(units.buffer) };
}

const kept = roomFor(SCRATCH);
const isBigEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 0;

/**
 * The text's code units, valid until the next call: reading them takes half of the time of asking a string for each.
 */
function unitsOf(text: string): Units {
  const { length } = text;
  const { units, bytes } = length <= SCRATCH ? kept : roomFor(length);
  bytes.write(text, 0, "utf16le");
  if (isBigEndian) bytes.subarray(0, 2 * length).swap16();
  units[length] = 0;
  return units;
}

function classAt(units: Units, at: number): number {
  return CHARACTER_CLASSES[units[at] as number] as number;
}

/** End of the letters at `at`, with and without diacritics, up to the next capital. */
function smallEnd(units: Units, at: number): number {
  let end = at;
  for (let kind = classAt(units, end); kind !== UPPER && kind <= EXTENDED; kind = classAt(units, end)) end++;
  return end;
}

/** What the letters with diacritics in [at, end) add to their word. */
function accentsWeight(units: Units, at: number, end: number, weights: Weights): number {
  let total = 0;
  for (let index = at; index < end; index++) {
    const kind = classAt(units, index);
    if (kind === ACCENTED) total += weights[SLOT.accent] as number;
    else if (kind === EXTENDED) total += weights[SLOT.extended] as number;
  }
  return total;
}

/** As a short Latin word has a weight in its `table`, which says how it begins: that of the longer one in [at, end). */
function longWordWeight(units: Units, at: number, end: number, table: number, weights: Weights): number {
  let length = end - at;
  let total = 0;
  if (length > RUN) {
    let repeated = 0;
    for (let index = at + 1; index < end; index++) {
      if (units[index] === units[index - 1]) repeated++;
    }
    total = repeated * (weights[SLOT.letterRepeat] as number);
    length -= repeated;
  }
  if (length <= LONGEST_WORD) return total + (weights[table + length] as number);
  const further = length - LONGEST_WORD;
  return total + (weights[table + LONGEST_WORD] as number) + further * (weights[table] as number);
}

/** Weight of the signs in [at, end); `table` says how they begin. */
function signsWeight(units: Units, at: number, end: number, table: number, weights: Weights): number {
  let total = 0;
  let changes = 1;
  let before = -1;
  for (let index = at; index < end; index++) {
    const code = units[index] as number;
    const kind = CHARACTER_CLASSES[code] as number;
    if (kind === SURROGATE) total += weights[SLOT.surrogate] as number;
    else if (code === before) total += weights[kind === SIGN ? SLOT.signRepeat : SLOT.wideRepeat] as number;
    else if (kind === SYMBOL) total += weights[SLOT.symbol] as number;
    else if (kind !== SIGN) total += weights[SLOT.wideSign] as number;
    else if (before !== -1) changes++;
    before = code;
  }
  if (changes <= LONGEST_SIGNS) return total + (weights[table + changes] as number);
  const further = changes - LONGEST_SIGNS;
  return total + (weights[table + LONGEST_SIGNS] as number) + further * (weights[table] as number);
}

/** Weight of the blanks in [at, end) that stand alone; the last one may belong to the piece that follows. */
function blanksWeight(units: Units, at: number, end: number, weights: Weights): number {
  let total = (end - at) * (weights[SLOT.blankRepeat] as number);
  let first = at;
  for (let index = end - 1; index >= at; index--) {
    if (classAt(units, index) === NEWLINE) {
      first = index + 1;
      total += weights[SLOT.lines] as number;
      break;
    }
  }
  if (end - first > 1) total += weights[SLOT.indent] as number;
  return total;
}

/**
 * Walks a text as the pre-tokenizer of `o200k_base` would and adds up the weights of its pieces. Linear in the
 * weights, which is how `bench/tokens/fit.ts` finds them, and in the length of the text.
 */
export function weigh(text: string, weights: Weights): number {
  return weighUnits(unitsOf(text), text.length, weights);
}

/** The same of code units, behind which one stands that is 0. */
export function weighUnits(units: Units, length: number, weights: Weights): number {
  let total = 0;
  let at = 0;
  /** Where the next word's table begins: after nothing that joins it, after a blank, after a single sign. */
  let words: number = SLOT.bareWord;
  let signs: number = SLOT.bareSigns;
  let kind = classAt(units, 0);
  while (at < length) {
    let end = at + 1;
    /** Of the unit at `end`: the piece behind this one begins with it. */
    let next = classAt(units, end);
    let nextWords: number = SLOT.bareWord;
    let nextSigns: number = SLOT.bareSigns;
    if (kind <= EXTENDED) {
      // Capitals, then small letters, as camel case is cut. The commonest loops stand here: calls would cost as much.
      if (kind === UPPER) while (next === UPPER) next = classAt(units, ++end);
      if (kind <= UPPER) while (next === LOWER) next = classAt(units, ++end);
      if (kind > UPPER || next === ACCENTED || next === EXTENDED) {
        const plain = kind > UPPER ? at : end;
        end = smallEnd(units, plain);
        next = classAt(units, end);
        total += accentsWeight(units, plain, end, weights);
      }
      const size = end - at;
      if (size <= LONGEST_WORD) total += weights[words + size] as number;
      else total += longWordWeight(units, at, end, words, weights);
    } else if (kind < SIGN && kind > DIGIT) {
      let last = kind;
      for (; next >= SPACE && next < SIGN; next = classAt(units, ++end)) last = next;
      if (end === at + 1 && kind !== NEWLINE) total += weights[SLOT.blankRepeat] as number;
      else total += blanksWeight(units, at, end, weights);
      if (last !== NEWLINE) {
        nextWords = SLOT.spacedWord;
        if (last === SPACE) nextSigns = SLOT.spacedSigns;
        if (next === DIGIT || end === length || (next >= SIGN && last !== SPACE))
          total += weights[SLOT.blank] as number;
      }
    } else if (kind >= SIGN) {
      while (next >= SIGN && end < length) next = classAt(units, ++end);
      if (end === at + 1 && signs === SLOT.bareSigns && next <= EXTENDED) {
        nextWords = SLOT.signedWord;
      } else {
        total += signsWeight(units, at, end, signs, weights);
        while (next === NEWLINE) next = classAt(units, ++end);
      }
    } else {
      while (next === kind) next = classAt(units, ++end);
      if (kind === DIGIT) total += Math.ceil((end - at) / 3) * (weights[SLOT.digits] as number);
      else {
        const slot = SLOT.foreign + 2 * (kind - CYRILLIC);
        total += (weights[slot] as number) + (end - at) * (weights[slot + 1] as number);
      }
    }
    at = end;
    kind = next;
    words = nextWords;
    signs = nextSigns;
  }
  return total;
}

/**
 * Tokens that a text takes, estimated without a tokenizer: within a few percent of `o200k_base` over a few thousand
 * characters of prose, code, JSON, Markdown and Chinese. Never negative, 0 only for the empty text.
 */
export function estimateTokens(text: string): number {
  return text === "" ? 0 : Math.max(1, Math.round(weigh(text, WEIGHTS)));
}
