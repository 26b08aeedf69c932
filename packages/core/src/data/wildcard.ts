/** Whether a pattern matches a whole text; `*` matches any characters, for example `fam-*` matches `fam-a`. */
export function matchesWildcard(pattern: string, text: string): boolean {
  if (pattern === "*") return true;
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return text === pattern;
  if (!text.startsWith(first)) return false;
  const last = rest.pop() ?? "";
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
