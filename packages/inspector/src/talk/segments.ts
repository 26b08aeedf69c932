/** Long words in pieces that are read, measured and shown one by one, so that a growing answer costs only its last piece. */

/** A piece is at least this long, in characters. */
const LEAST = 1_500;

/** Whether a piece may begin with the line: it continues no list and no paragraph of one. */
function mayBegin(line: string): boolean {
  return line !== "" && !/^(?:\s|[-*+] |\d+[.)] |\||>)/.test(line);
}

/** Pieces of Markdown, cut at blank lines outside of code; joined they are the text. */
export function segmentsOf(text: string): string[] {
  if (text.length < LEAST * 2) return [text];
  const pieces: string[] = [];
  let start = 0;
  let fence = "";
  let wasBlank = false;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\n", at);
    const next = end < 0 ? text.length : end + 1;
    const line = text.slice(at, end < 0 ? text.length : end);
    const [, mark] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? [];
    if (fence === "" && wasBlank && at - start >= LEAST && mayBegin(line)) {
      pieces.push(text.slice(start, at));
      start = at;
    }
    if (mark !== undefined && (fence === "" || (mark.startsWith(fence) && line.trim() === mark)))
      fence = fence === "" ? mark : "";
    wasBlank = line.trim() === "";
    at = next;
  }
  pieces.push(text.slice(start));
  return pieces;
}
