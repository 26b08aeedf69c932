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

/** Longer runs of letters are not words; equal neighbours in them are counted separately. */
const LONGEST_RUN = 32;

/** Size of the reused buffer, in code units; nearly all texts are shorter. */
const SCRATCH = 1 << 16;
/** One terminator after the last unit, so that loops find the end of a run without a bounds check. */
const END = 1;

type Weights = Readonly<Float64Array>;
/** A text's UTF-16 code units and a terminator that ends every run. */
type Units = Readonly<Uint16Array>;

/** Buffer for a text's UTF-16 code units and the terminator, as units and as bytes. */
interface UnitBuffer {
  units: Uint16Array;
  bytes: Buffer;
}

function bufferFor(length: number): UnitBuffer {
  const units = new Uint16Array(length + END);
  return { units, bytes: Buffer.from(units.buffer) };
}

const scratch = bufferFor(SCRATCH);
const isBigEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 0;

/**
 * The text's code units, valid until the next call. Reading them takes half of the time of `charCodeAt`.
 */
function unitsOf(text: string): Units {
  const { length } = text;
  const { units, bytes } = length <= SCRATCH ? scratch : bufferFor(length);
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

/** Weight that the letters with diacritics in [at, end) add to their word. */
function accentsWeight(units: Units, at: number, end: number, weights: Weights): number {
  let total = 0;
  for (let index = at; index < end; index++) {
    const kind = classAt(units, index);
    if (kind === ACCENTED) total += weights[SLOT.accent] as number;
    else if (kind === EXTENDED) total += weights[SLOT.extended] as number;
  }
  return total;
}

/** Weight of the Latin word in [at, end), which is too long for an entry in `table`; the table depends on what precedes it. */
function longWordWeight(units: Units, at: number, end: number, table: number, weights: Weights): number {
  let length = end - at;
  let total = 0;
  if (length > LONGEST_RUN) {
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

/** Weight of the signs in [at, end); `table` depends on what precedes them. */
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

/**
 * Weight of a number of blanks that are pieces by themselves; the last one may belong to the next piece. `indent`: those after the last
 * line break, all without one.
 */
function blanksWeight(count: number, indent: number, hasLine: boolean, weights: Weights): number {
  let total = count * (weights[SLOT.blankRepeat] as number);
  if (hasLine) total += weights[SLOT.lines] as number;
  if (indent > 1) total += weights[SLOT.indent] as number;
  return total;
}

/**
 * Splits a text as the pre-tokenizer of `o200k_base` would and adds up the weights of its pieces. Linear in the
 * weights, so that `bench/tokens/fit.ts` can fit them, and in the length of the text.
 */
export function weigh(text: string, weights: Weights): number {
  return weighUnits(unitsOf(text), text.length, weights);
}

/** The same for code units that are followed by a 0. */
export function weighUnits(units: Units, length: number, weights: Weights): number {
  let total = 0;
  let at = 0;
  /** Table of the next word: after nothing that joins it, after a blank, or after a single sign. */
  let words: number = SLOT.bareWord;
  let signs: number = SLOT.bareSigns;
  let kind = classAt(units, 0);
  while (at < length) {
    let end = at + 1;
    /** Class of the unit at `end`, the first of the next piece. */
    let next = classAt(units, end);
    let nextWords: number = SLOT.bareWord;
    let nextSigns: number = SLOT.bareSigns;
    if (kind <= EXTENDED) {
      // Capitals, then small letters, as camel case is split. The hottest loops are inline: calls would double their cost.
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
      /** Place after the last line break. */
      let line = kind === NEWLINE ? end : at;
      for (; next >= SPACE && next < SIGN; next = classAt(units, ++end)) {
        last = next;
        if (next === NEWLINE) line = end + 1;
      }
      if (end === at + 1 && kind !== NEWLINE) total += weights[SLOT.blankRepeat] as number;
      else total += blanksWeight(end - at, end - line, line > at, weights);
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
 * Estimates the tokens of a text without a tokenizer: within a few percent of `o200k_base` over a few thousand
 * characters of prose, code, JSON, Markdown and Chinese. Never negative, 0 only for the empty text.
 */
export function estimateTokens(text: string): number {
  return text === "" ? 0 : Math.max(1, Math.round(weigh(text, WEIGHTS)));
}
