/** Text of a tool result, without the frame that a harness adds. */
import { isErrorLine } from "./salience.ts";
import { onOneLine, shorten } from "./sentences.ts";

/** Lines that Codex writes before the output of a command. */
const FRAME =
  /^(?:(?:Chunk ID|Wall time|Original token count|Total output lines|Exit code|Process (?:exited with code|running with session ID))\b[^\n]*\n)+Output:(?:\n|$)/;
const CODE = /^(?:Process exited with code|Exit code:?) (-?\d+)/m;

/** The tool's output; the exit code of a command without output. */
export function resultWords(text: string): string {
  const frame = FRAME.exec(text)?.[0];
  if (frame === undefined) return text;
  const words = text.slice(frame.length);
  const code = CODE.exec(frame)?.[1];
  return words.trim() === "" && code !== undefined ? `exit code ${code}` : words;
}

function wordLines(result: string): string[] {
  return result
    .split("\n")
    .map(onOneLine)
    .filter((line) => line !== "");
}

/** A result in one line: its first and last lines. Empty when it has no text. */
export function resultLine(result: string, maxChars: number): string {
  const lines = wordLines(result);
  const [first = "", last = ""] = [lines[0], lines.at(-1)];
  if (lines.length < 2 || first === last) return shorten(first, maxChars);
  const half = Math.max(20, Math.floor((maxChars - 3) / 2));
  const end = shorten(last, Math.max(half, maxChars - 3 - first.length));
  return `${shorten(first, maxChars - 3 - end.length)}${lines.length === 2 ? " / " : " … "}${end}`;
}

/** The reason in a failed result: the first line that names an error, else the first line. */
export function failureLine(result: string, maxChars: number): string {
  const lines = wordLines(result);
  return shorten(lines.find((line) => isErrorLine(line, true)) ?? lines[0] ?? "no output", maxChars);
}
