import { CHARACTER_CLASSES, DIGIT, LAST_LETTER, SIGN } from "./characters.ts";

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
