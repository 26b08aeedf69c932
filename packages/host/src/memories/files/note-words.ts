/** Splits queries and notes into words, compared without case, accents and width. */

// Scripts written without spaces, or (Korean) with suffixes attached: matched by pairs of characters.
const NOTE_SCRIPTS = ["Han", "Hiragana", "Katakana", "Hangul", "Thai", "Lao", "Khmer", "Myanmar"];
const UNSPACED = `[[\\p{L}\\p{M}\\p{N}]&&[${NOTE_SCRIPTS.map((script) => `\\p{scx=${script}}`).join("")}]]`;
const SPACED = `[[\\p{L}\\p{M}\\p{N}]--${UNSPACED}]`;
const NOTE_TERMS = new RegExp(`(?<unspaced>${UNSPACED}+)|${SPACED}+`, "gv");
/** The same for folded ASCII texts, which most notes are. */
const PLAIN_TERMS = /[a-z0-9]+/g;

const MOST_TERMS = 32;
/** Shorter words match only exactly. */
export const PREFIX_CHARACTERS = 3;
export const PREFIX_WEIGHT = 0.5;

export interface QueryTerm {
  /** Folded: a word without a plural s, or a pair of characters. */
  text: string;
  kind: "word" | "pair";
}

function isAscii(text: string): boolean {
  return /^[\x00-\x7f]*$/.test(text);
}

/** Normalizes a text for comparison: lower case, no accents, no full-width forms. */
export function foldNote(text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  return text
    .normalize("NFKD")
    .replaceAll(/[\u0300-\u036f]/g, "")
    .normalize("NFC")
    .toLowerCase();
}

function pairs(run: string): string[] {
  const characters = Array.from(run);
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, index) => `${characters[index] ?? ""}${character}`);
}

/** The terms of a query in its order, each once, at most 32. */
export function queryTerms(query: string): QueryTerm[] {
  const terms = new Map<string, QueryTerm>();
  for (const match of foldNote(query).matchAll(NOTE_TERMS)) {
    const [word] = match;
    if (match.groups?.["unspaced"] === undefined) {
      const text = /[^s]s$/.test(word) && word.length > PREFIX_CHARACTERS ? word.slice(0, -1) : word;
      terms.set(text, { text, kind: "word" });
    } else {
      for (const pair of pairs(word)) terms.set(pair, { text: pair, kind: "pair" });
    }
  }
  return [...terms.values()].slice(0, MOST_TERMS);
}

/**
 * The words of a folded text in order, repeats kept. For a script without spaces, each pair of characters and the
 * last character of each run, so that every character starts one of them.
 */
export function wordsOf(folded: string): string[] {
  if (isAscii(folded)) return folded.match(PLAIN_TERMS) ?? [];
  const words: string[] = [];
  for (const match of folded.matchAll(NOTE_TERMS)) {
    const [word] = match;
    if (match.groups?.["unspaced"] === undefined) words.push(word);
    else {
      const characters = Array.from(word);
      for (const [index, character] of characters.entries()) {
        words.push(`${character}${characters[index + 1] ?? ""}`);
      }
    }
  }
  return words;
}
