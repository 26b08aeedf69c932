/** Quotes a text as one word of a POSIX shell, for example `it's` as `'it'\''s'`. */
export function shellWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
