/** Text in the form in which it is compared. */

const PLAIN = /^[\0-\x7f]*$/;
const FOREIGN = /[^\0-\x7f]/gu;

function foldCharacter(character: string): string {
  // SQLite's tokenizer, too, has one sigma.
  if (character === "ς") return "σ";
  const folded = character
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase();
  return folded.length === character.length ? folded : character;
}

/** Lower case without diacritics; character positions do not change. */
export function fold(text: string): string {
  return (PLAIN.test(text) ? text : text.replace(FOREIGN, foldCharacter)).toLowerCase();
}
