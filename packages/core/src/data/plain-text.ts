/**
 * Text that someone else wrote, for a model, a person or a filter: without what a reader does not see. Used for channels, MCP
 * servers, plugins, skills and project instructions alike. Results that must stay exact, such as the text of a file, are not changed.
 */
import { isRecord } from "./record-fields.ts";

const LONGEST_NAME = 100;
/**
 * Controls, marks of direction, zero-width characters, tag characters (U+E0000 to U+E007F), fillers. `withoutHidden` handles joiners
 * and variation selectors.
 */
const UNSEEN =
  /[[\p{Cc}\p{Default_Ignorable_Code_Point}\u061C\uFFF9-\uFFFB]--[\t\n\u200C\u200D\p{Variation_Selector}]]/gv;
const JOINS_OR_SELECTS = /[\u200C\u200D\p{Variation_Selector}]/v;
const JOINER = /[\u200C\u200D]/;
/** Letters and emoji between which a joiner is kept. */
const JOINED = /[[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]--\p{Script=Latin}]/v;
const SELECTED = /[[\p{L}\p{N}\p{P}\p{S}\p{M}]--\p{Variation_Selector}]/v;
/** More than a text: what joins letters, too, can make two names look the same. */
const ODD_IN_NAME = /[\p{Cf}\p{Cs}\p{Co}]+/gu;

/** With plain line breaks. */
export function plainText(text: string): string {
  const plain = text
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029\u0085]/g, "\n")
    .replaceAll(UNSEEN, "");
  return JOINS_OR_SELECTS.test(plain) ? withoutHidden(plain) : plain;
}

/** Drops joiners that join nothing and further variation selectors after one: a sequence of them can hide a text. */
function withoutHidden(text: string): string {
  const characters = [...text];
  let kept = "";
  let last = "";
  for (const [index, character] of characters.entries()) {
    if (JOINER.test(character) && !(JOINED.test(last) && JOINED.test(characters[index + 1] ?? ""))) continue;
    const selects = JOINS_OR_SELECTS.test(character) && !JOINER.test(character);
    if (selects && !SELECTED.test(last)) continue;
    kept += character;
    last = character;
  }
  return kept;
}

/** On one line of at most `most` characters. */
export function plainLine(text: string, most: number): string {
  return [...plainText(text).replaceAll(/\s+/g, " ").trim()].slice(0, most).join("").trim();
}

/** A name that someone else chose, safe to show inside a line, and no longer than a line has space for. May be empty. */
export function shownName(name: string): string {
  return plainLine(
    name
      .toWellFormed()
      .replaceAll(/\p{Cc}+/gu, " ")
      .replaceAll(ODD_IN_NAME, " "),
    LONGEST_NAME,
  );
}

/** The same value with every text in it plain, such as a schema with descriptions. Keys stay: they are names of fields. */
export function plainTexts(value: unknown): unknown {
  if (typeof value === "string") return plainText(value);
  if (Array.isArray(value)) return value.map(plainTexts);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plainTexts(item)]));
}

/** A text that a person decides on: each unseen character is written out, such as `\u202e` or `\u{e0041}`. Newlines and tabs stay. */
export function escapedUnseen(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\t\n]]/gv, (character) => {
      const hex = (character.codePointAt(0) ?? 0).toString(16).padStart(4, "0");
      return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex}`;
    });
}

/** Everything that a line does not show, shows as a space, or can be two letters in one place. */
const NOT_PLAIN = /[\p{C}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}]/gu;
/** Alphabets whose letters look like those of others. */
const ALPHABETS = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
] as const;

const BEYOND_ASCII = /[^\x20-\x7E]/gu;

function escaped(text: string): string {
  return text.replaceAll(
    /./gsu,
    (letter) => `\\u{${(letter.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}}`,
  );
}

/**
 * An address for a decision about it: two that differ look different. What a reader would not see is written out (`build\u{200b}`), letters beyond
 * ASCII too: in place where alphabets are mixed, else after the address. Whole, since what is cut off could differ.
 */
export function shownAddress(address: string): string {
  const seen = address
    .replaceAll("\\", "\\\\")
    .replaceAll(NOT_PLAIN, (letter) => (letter === " " ? " " : escaped(letter)))
    .replaceAll(/^ | (?= |$)/g, escaped);
  const plain = seen.replaceAll(BEYOND_ASCII, escaped);
  if (plain === seen) return seen;
  const letters = seen.replaceAll(/\\u\{[0-9a-f]+\}/g, "");
  const isMixed = ALPHABETS.filter((alphabet) => alphabet.test(letters)).length > 1;
  return isMixed || address.normalize("NFKC") !== address ? plain : `${seen} (${plain})`;
}
