/** Text in the form in which it is compared. */

const FOREIGN = /[^\0-\x7f]+/g;
/** More characters than people's scripts have in use at once. */
const MOST_KNOWN = 8_192;

const known = new Map<string, string>();

function foldCharacter(character: string): string {
  // SQLite's tokenizer, too, has one sigma.
  if (character === "ς") return "σ";
  const folded = character
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase();
  return folded.length === character.length ? folded : character;
}

/** Each character is folded once: it takes a microsecond. */
function foldRun(run: string): string {
  let result = "";
  for (const character of run) {
    let folded = known.get(character);
    if (folded === undefined) {
      folded = foldCharacter(character);
      if (known.size >= MOST_KNOWN) known.clear();
      known.set(character, folded);
    }
    result += folded;
  }
  return result;
}

/** Lower case without diacritics; character positions do not change. */
export function fold(text: string): string {
  return text.replace(FOREIGN, foldRun).toLowerCase();
}

const LATIN = /^[\0-\u024f]*$/;

/** Whether a text has no character of another alphabet than Latin. */
export function isLatin(text: string): boolean {
  return LATIN.test(text);
}
