/** Texts that someone else wrote, as a person sees them: without what a reader does not see, but a terminal, a model or a filter does. */

const LONGEST_NAME = 100;
/** Controls, marks of direction, zero-width and tag characters; what joins letters and emoji stays. */
const UNSEEN = /[[\p{Cc}[\p{Cf}&&\p{Default_Ignorable_Code_Point}]]--[\t\n\u200C\u200D]]/gv;
/** More than a text: what joins letters, too, can make two names look the same. */
const ODD_IN_NAME = /[\p{Cf}\p{Cs}\p{Co}]+/gu;

/** With plain line breaks. */
export function plainText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029\u0085]/g, "\n")
    .replaceAll(UNSEEN, "");
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
