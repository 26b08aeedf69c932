/**
 * Splits scripts that are written without spaces into pairs of characters for the index, so that a word of two characters
 * is found inside a sentence. SQLite's tokenizer handles everything else.
 */
const SCRIPTS = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"];
const RUN = new RegExp(`[${SCRIPTS.map((script) => `\\p{Script=${script}}`).join("")}]+`, "gu");
const LONG_RUN = new RegExp(
  `((?:${SCRIPTS.map((script) => `\\p{Script=${script}}`).join("|")})[ー${SCRIPTS.map((script) => `\\p{Script=${script}}`).join("")}]*)`,
  "u",
);
/** Fast check: no character below U+0E00 belongs to these scripts. */
const MAYBE = /[\u0e00-\u{10ffff}]/u;
/** Boundary between two parts of a camel case name. */
const BEND = /[a-z][A-Z]|[A-Z]{2}[a-z]{2}/;
const WORD_PART = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g;
/** Longer runs of letters are not names. */
const LONGEST_NAME = 64;

function pairsOf(run: string, lone: boolean): string[] {
  const characters = Array.from(run);
  const pairs = characters.slice(1).map((character, index) => `${characters[index] ?? ""}${character}`);
  // The last character is added alone, so that a query of one character finds it.
  if (lone || pairs.length === 0) pairs.push(characters.at(-1) ?? "");
  return pairs;
}

/** The useful parts of a camel case name; empty for any other word. */
export function partsOf(name: string): string[] {
  if (name.length > LONGEST_NAME || !BEND.test(name)) return [];
  return (name.match(WORD_PART) ?? []).filter((part) => part.length > 1);
}

/** Text for the index; the SQL function `pairs`. */
export function indexedText(text: string): string {
  return MAYBE.test(text) ? text.replace(RUN, (run) => ` ${pairsOf(run, true).join(" ")} `) : text;
}

/** The tokens that every text with this query word has. */
export function queryPairs(word: string): string {
  return MAYBE.test(word) ? word.replace(RUN, (run) => ` ${pairsOf(run, false).join(" ")} `).trim() : word;
}

/** The runs of such a script in a word, and what is between them; the sign of a long vowel (`コーヒー`) is part of a run. */
export function runsOf(word: string): { text: string; isRun: boolean }[] {
  if (!MAYBE.test(word)) return [{ text: word, isRun: false }];
  return word
    .split(LONG_RUN)
    .filter((text) => text !== "")
    .map((text) => ({ text, isRun: LONG_RUN.test(text) }));
}

/** True for words that are only in such a script. */
export function isUnspaced(word: string): boolean {
  return MAYBE.test(word) && word !== "" && word.replace(RUN, "") === "";
}
