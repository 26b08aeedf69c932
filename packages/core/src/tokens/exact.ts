import { CHARACTER_CLASSES, DIGIT, LAST_LETTER, SIGN } from "./characters.ts";

type Tokenizer = typeof import("gpt-tokenizer/encoding/o200k_base");

/** Text that looks like a control token is counted as text, not refused. */
const AS_TEXT = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };

async function loadTokenizer(): Promise<Tokenizer | undefined> {
  try {
    return await import("gpt-tokenizer/encoding/o200k_base");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

/**
 * Counts the tokens of a text in `o200k_base` with the optional peer `gpt-tokenizer`; undefined when it is not
 * installed. Runs of more than 256 letters, signs or blanks are split first, which may add a token for each split.
 * The first call loads the tokenizer, which takes about 0.2 s.
 */
export async function countExact(text: string): Promise<number | undefined> {
  const tokenizer = await loadTokenizer();
  if (tokenizer === undefined) return undefined;
  let total = 0;
  for (const piece of splitLongRuns(text)) total += tokenizer.countTokens(piece, AS_TEXT);
  return total;
}

const LETTERS = 0;
const DIGITS = 1;
const BLANKS = 2;
const SIGNS = 3;

function kindAt(text: string, at: number): number {
  const characterClass = CHARACTER_CLASSES[text.charCodeAt(at)] as number;
  if (characterClass <= LAST_LETTER) return LETTERS;
  if (characterClass === DIGIT) return DIGITS;
  return characterClass < SIGN ? BLANKS : SIGNS;
}

function insidePair(text: string, at: number): boolean {
  return (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}

/**
 * Splits a text so that no piece has an unbroken run of more than `limit` letters, signs or blanks (UTF-16 code
 * units): byte pair encoders take quadratic time on such runs (13 s for 100,000 equal letters). The joined pieces are
 * the text; a surrogate pair is never split. A text without such runs is returned as the only piece.
 */
export function splitLongRuns(text: string, limit = 256): string[] {
  const pieces: string[] = [];
  let pieceStart = 0;
  let runStart = 0;
  let runKind = -1;
  for (let at = 0; at < text.length; at++) {
    const kind = kindAt(text, at);
    if (kind !== runKind) {
      runKind = kind;
      runStart = at;
    } else if (at - runStart >= limit && kind !== DIGITS && !insidePair(text, at)) {
      pieces.push(text.slice(pieceStart, at));
      pieceStart = at;
      runStart = at;
    }
  }
  pieces.push(text.slice(pieceStart));
  return pieces;
}
