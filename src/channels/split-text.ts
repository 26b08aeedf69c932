/** Splits a long answer where a reader would: between paragraphs, else lines, sentences, words; never in a character. */

/** Best first: what ends a part, searched from its longest end back. */
const ENDS: readonly RegExp[] = [/\n\s*\n/g, /\n/g, /[.!?…。！？]["')\]]*\s/g, /\s/g];

/** Where the first part ends, at most `max`. */
function endOf(text: string, max: number): number {
  const head = text.slice(0, max + 1);
  for (const end of ENDS) {
    const last = [...head.matchAll(end)].at(-1);
    const at = last === undefined ? 0 : last.index + last[0].length;
    // A part of a few words and a long rest reads worse than a cut in a sentence.
    if (at > max / 4) return Math.min(at, max);
  }
  const code = text.charCodeAt(max - 1);
  return code >= 0xd800 && code < 0xdc00 ? max - 1 : max;
}

/** Parts of at most `max` characters (2 or more), without white space around them; none for a text of white space. */
export function splitText(text: string, max: number): string[] {
  const parts: string[] = [];
  let rest = text.trim();
  while (rest.length > max) {
    const at = endOf(rest, max);
    parts.push(rest.slice(0, at).trimEnd());
    rest = rest.slice(at).trimStart();
  }
  return rest === "" ? parts : [...parts, rest];
}
