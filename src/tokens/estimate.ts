import {
  ACCENTED,
  CHARACTER_CLASSES,
  CYRILLIC,
  DIGIT,
  EXTENDED,
  LAST_LETTER,
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

type Weights = Readonly<Float64Array>;

function classAt(text: string, at: number): number {
  return CHARACTER_CLASSES[text.charCodeAt(at)] as number;
}

/** End of the ASCII letters of the word at `at`: capitals, then small letters, as camel case is cut. */
function plainEnd(text: string, at: number): number {
  const { length } = text;
  let end = at;
  while (end < length && classAt(text, end) === UPPER) end++;
  while (end < length && classAt(text, end) === LOWER) end++;
  return end;
}

/** End of the small letters at `at`, with and without diacritics. */
function smallEnd(text: string, at: number): number {
  let end = at;
  while (end < text.length) {
    const kind = classAt(text, end);
    if (kind === UPPER || kind > EXTENDED) break;
    end++;
  }
  return end;
}

/** End of the run of one class at `at`. */
function runEnd(text: string, at: number, kind: number): number {
  let end = at + 1;
  while (end < text.length && classAt(text, end) === kind) end++;
  return end;
}

/** End of the run of signs at `at`, with the line ends that join it. */
function signsEnd(text: string, at: number): number {
  let end = at;
  while (end < text.length && classAt(text, end) >= SIGN) end++;
  return end;
}

/** What the letters with diacritics in [at, end) add to their word. */
function accentsWeight(text: string, at: number, end: number, weights: Weights): number {
  let total = 0;
  for (let index = at; index < end; index++) {
    const kind = classAt(text, index);
    if (kind === ACCENTED) total += weights[SLOT.accent] as number;
    else if (kind === EXTENDED) total += weights[SLOT.extended] as number;
  }
  return total;
}

/** Weight of the Latin word in [at, end) without its diacritics; `table` says how it begins. */
function wordWeight(text: string, at: number, end: number, table: number, weights: Weights): number {
  let length = end - at;
  let total = 0;
  if (length > RUN) {
    let repeated = 0;
    for (let index = at + 1; index < end; index++) {
      if (text.charCodeAt(index) === text.charCodeAt(index - 1)) repeated++;
    }
    total = repeated * (weights[SLOT.letterRepeat] as number);
    length -= repeated;
  }
  if (length <= LONGEST_WORD) return total + (weights[table + length] as number);
  const further = length - LONGEST_WORD;
  return total + (weights[table + LONGEST_WORD] as number) + further * (weights[table] as number);
}

/** Weight of the signs in [at, end); `table` says how they begin. */
function signsWeight(text: string, at: number, end: number, table: number, weights: Weights): number {
  let total = 0;
  let changes = 1;
  let before = -1;
  for (let index = at; index < end; index++) {
    const code = text.charCodeAt(index);
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

/** End of the blanks at `at`. */
function blanksEnd(text: string, at: number): number {
  let end = at;
  while (end < text.length) {
    const kind = classAt(text, end);
    if (kind < SPACE || kind >= SIGN) break;
    end++;
  }
  return end;
}

/** Weight of the blanks in [at, end) that stand alone; the last one may belong to the piece that follows. */
function blanksWeight(text: string, at: number, end: number, weights: Weights): number {
  let total = (end - at) * (weights[SLOT.blankRepeat] as number);
  let first = at;
  for (let index = end - 1; index >= at; index--) {
    if (classAt(text, index) === NEWLINE) {
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
 * weights, which is how `bench/tokens/fit.ts` finds them, and in the length of the text. Nothing is allocated.
 */
export function weigh(text: string, weights: Weights): number {
  const { length } = text;
  let total = 0;
  let at = 0;
  /** Where the next word's table begins: after nothing that joins it, after a blank, after a single sign. */
  let words: number = SLOT.bareWord;
  let signs: number = SLOT.bareSigns;
  while (at < length) {
    const kind = classAt(text, at);
    let end: number;
    let nextWords: number = SLOT.bareWord;
    let nextSigns: number = SLOT.bareSigns;
    if (kind <= EXTENDED) {
      const plain = plainEnd(text, at);
      end = smallEnd(text, plain);
      if (end > plain) total += accentsWeight(text, plain, end, weights);
      total += wordWeight(text, at, end, words, weights);
    } else if (kind <= LAST_LETTER) {
      end = runEnd(text, at, kind);
      const slot = SLOT.foreign + 2 * (kind - CYRILLIC);
      total += (weights[slot] as number) + (end - at) * (weights[slot + 1] as number);
    } else if (kind === DIGIT) {
      end = runEnd(text, at, DIGIT);
      total += Math.ceil((end - at) / 3) * (weights[SLOT.digits] as number);
    } else if (kind < SIGN) {
      end = blanksEnd(text, at);
      total += blanksWeight(text, at, end, weights);
      const last = classAt(text, end - 1);
      const next = end < length ? classAt(text, end) : DIGIT;
      if (last !== NEWLINE) {
        nextWords = SLOT.spacedWord;
        if (last === SPACE) nextSigns = SLOT.spacedSigns;
        if (next === DIGIT || (next >= SIGN && last !== SPACE)) total += weights[SLOT.blank] as number;
      }
    } else {
      end = signsEnd(text, at);
      if (end === at + 1 && signs === SLOT.bareSigns && end < length && classAt(text, end) <= EXTENDED) {
        nextWords = SLOT.signedWord;
      } else {
        total += signsWeight(text, at, end, signs, weights);
        while (end < length && classAt(text, end) === NEWLINE) end++;
      }
    }
    at = end;
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
