/**
 * Words of scripts that are written without spaces are indexed as pairs of characters, so that a word of two is
 * found inside a sentence. Everything else is left to SQLite's tokenizer.
 */
const SCRIPTS = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"];
const RUN = new RegExp(`[${SCRIPTS.map((script) => `\\p{Script=${script}}`).join("")}]+`, "gu");
/** Nothing below U+0E00 belongs to these scripts; most texts end here. */
const MAYBE = /[\u0e00-\u{10ffff}]/u;
/** Where one part of a name in camel case ends and the next begins. */
const BEND = /[a-z][A-Z]|[A-Z]{2}[a-z]{2}/;
const PART = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g;
/** Longer runs of letters are no names. */
const LONGEST_NAME = 64;

function pairsOf(run: string, lone: boolean): string[] {
  const characters = Array.from(run);
  const pairs = characters.slice(1).map((character, index) => `${characters[index] ?? ""}${character}`);
  // The lone last character lets a query of one character find it.
  if (lone || pairs.length === 0) pairs.push(characters.at(-1) ?? "");
  return pairs;
}

/** The parts of a name in camel case that say something; none of any other word. */
export function partsOf(name: string): string[] {
  if (name.length > LONGEST_NAME || !BEND.test(name)) return [];
  return (name.match(PART) ?? []).filter((part) => part.length > 1);
}

/** The text as it is indexed; the SQL function `pairs`. */
export function indexedText(text: string): string {
  return MAYBE.test(text) ? text.replace(RUN, (run) => ` ${pairsOf(run, true).join(" ")} `) : text;
}

/** A query's word as the tokens that a text which has it must have. */
export function queryPairs(word: string): string {
  return MAYBE.test(word) ? word.replace(RUN, (run) => ` ${pairsOf(run, false).join(" ")} `).trim() : word;
}

/** True for words of such a script alone. */
export function isUnspaced(word: string): boolean {
  return MAYBE.test(word) && word !== "" && word.replace(RUN, "") === "";
}
