/** Exact strings of a text: paths, ids, symbols, for example `src/app.ts` and `session_id`. */

/** A leading slash, `./`, `../` or `~/` belongs to the path. Without one it begins where a word does. */
const CANDIDATE = /(?:~\/|\.{0,2}\/|(?<!\w))[A-Za-z0-9_][A-Za-z0-9_./:-]{5,}/g;
const MARKS = "./:-";
const SHORTEST_IDENTIFIER = 6;
const LONGEST = 120;

/** Words with dots between them, as people write a pause. */
const PAUSE = /^[A-Za-z]+(?:\.{2,}[A-Za-z]+)+$/;

function isSpecific(value: string): boolean {
  if (value.length < SHORTEST_IDENTIFIER || value.length > LONGEST || PAUSE.test(value)) return false;
  return /[0-9_./:]/.test(value) || /[a-z][A-Z]/.test(value);
}

/** The specific strings of a text: with a digit, `_ . / :` or camel case, of 6 to 120 characters. */
export function specificStrings(text: string): string[] {
  return (text.match(CANDIDATE) ?? []).map(withoutMarks).filter(isSpecific);
}

/** Without the marks at its end; it has others before them. */
function withoutMarks(candidate: string): string {
  let end = candidate.length;
  while (MARKS.includes(candidate.charAt(end - 1))) end -= 1;
  return candidate.slice(0, end);
}

/**
 * The same, but field names (`session_id: `) keep their colon, as they are usually written. With `fields`, also field
 * names that are plain words: in code and data only the colon shows that they are names.
 */
export function namesIn(text: string, fields: boolean): string[] {
  const found: string[] = [];
  for (const match of text.matchAll(CANDIDATE)) {
    const value = withoutMarks(match[0]);
    const name = `${value}:`;
    const isField = match[0] === name && /\s/.test(text.charAt(match.index + name.length));
    if (isSpecific(value)) found.push(isField ? name : value);
    else if (isField && fields && isSpecific(name)) found.push(name);
  }
  return found;
}
