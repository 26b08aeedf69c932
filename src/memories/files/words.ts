/** Words of queries and notes, compared without case, accents and width. */

// Written without spaces, or (Korean) with endings joined on: found by pairs of characters.
const SCRIPTS = ["Han", "Hiragana", "Katakana", "Hangul", "Thai", "Lao", "Khmer", "Myanmar"];
const UNSPACED = `[[\\p{L}\\p{M}\\p{N}]&&[${SCRIPTS.map((script) => `\\p{scx=${script}}`).join("")}]]`;
const SPACED = `[[\\p{L}\\p{M}\\p{N}]--${UNSPACED}]`;
const TERMS = new RegExp(`(?<unspaced>${UNSPACED}+)|${SPACED}+`, "gv");
const WORD_CHARACTER = new RegExp(SPACED, "v");

const MOST_TERMS = 32;
/** Shorter words match only as they are. */
const PREFIX_CHARACTERS = 3;
const PREFIX_WEIGHT = 0.5;

export interface QueryTerm {
  /** Folded: a word without a plural s, or a pair of characters. */
  text: string;
  kind: "word" | "pair";
}

/** A text as it is compared: one case, no accents, no full-width forms. */
export function fold(text: string): string {
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
  for (const match of fold(query).matchAll(TERMS)) {
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

/** How often a folded text has a term; a word that only begins with it counts half. */
export function countTerm(folded: string, { text, kind }: QueryTerm): number {
  let count = 0;
  for (let at = folded.indexOf(text); at >= 0; at = folded.indexOf(text, at + text.length)) {
    count += kind === "pair" ? 1 : wordWeight(folded, at, text);
  }
  return count;
}

function wordWeight(folded: string, at: number, text: string): number {
  if (WORD_CHARACTER.test(folded.charAt(at - 1))) return 0;
  const end = at + text.length;
  const rest = folded.charAt(end);
  if (!WORD_CHARACTER.test(rest)) return 1;
  if (text.length < PREFIX_CHARACTERS) return 0;
  return rest === "s" && !WORD_CHARACTER.test(folded.charAt(end + 1)) ? 1 : PREFIX_WEIGHT;
}
