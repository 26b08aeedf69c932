/** Short previews of a call's changes, for the permission prompt. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { WorkspacePath } from "../places/workspace-boundary.ts";

const MOST_DIFF_LINES = 20;
const MOST_FILE_LINES = 10;
const MOST_PREVIEW_CHARACTERS = 160;
/** Larger files are described by their size, without counting lines. */
const COUNTED_BYTES = 16 * 1024 * 1024;

/** Lines of a text; a final line break starts no further line. */
export function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function cutLine(line: string): string {
  if (line.length <= MOST_PREVIEW_CHARACTERS) return line;
  const more = line.length - MOST_PREVIEW_CHARACTERS;
  // Half a surrogate pair at the cut would not survive UTF-8.
  return `${line.slice(0, MOST_PREVIEW_CHARACTERS).replace(/[\uD800-\uDBFF]$/, "")}… (${more} more characters)`;
}

function count(lines: number): string {
  return lines === 1 ? "1 line" : `${lines} lines`;
}

/** At most `most` lines; the last one reports the number of omitted ones. */
function firstLines(lines: readonly string[], most: number): string[] {
  if (lines.length <= most) return lines.map(cutLine);
  const shown = lines.slice(0, most - 1).map(cutLine);
  return [...shown, `… ${count(lines.length - shown.length)} more`];
}

/** Size of the file that a write would replace, as text; undefined if there is none. */
async function existingSize(at: WorkspacePath): Promise<string | undefined> {
  try {
    const facts = await stat(at.path);
    if (!facts.isFile()) return "something that is no regular file";
    if (facts.size > COUNTED_BYTES) return `${facts.size} bytes`;
    let lines = 0;
    let last = 10;
    for await (const chunk of createReadStream(at.path) as AsyncIterable<Buffer>) {
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
      last = chunk.at(-1) ?? last;
    }
    return count(last === 10 ? lines : lines + 1);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code === "ENOENT" || code === "ENOTDIR" ? undefined : "a file that cannot be read";
  }
}

/** `new file, 3 lines` or `overwrites 12 lines with 3 lines`, and the first lines of the new text. */
export async function writePreview(at: WorkspacePath, content: string): Promise<string> {
  const lines = linesOf(content);
  const size = await existingSize(at);
  const title =
    size === undefined
      ? `new file, ${count(lines.length)}`
      : `overwrites ${size} with ${count(lines.length)}`;
  return [title, ...firstLines(lines, MOST_FILE_LINES)].join("\n");
}

/** A small diff of an edit, with one unchanged line of context at each end. At most 20 lines. */
export function editPreview(edit: { oldText: string; newText: string; all: boolean }): string {
  const [before, after] = [edit.oldText.split(/\r?\n/), edit.newText.split(/\r?\n/)];
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const context = (from: number, to: number): string[] =>
    before.slice(Math.max(0, from), to).map((line) => ` ${cutLine(line)}`);
  const around = [
    ...(edit.all ? ["at every place:"] : []),
    ...context(start - 1, start),
    ...context(before.length - end, before.length - end + Math.min(end, 1)),
  ];
  const [old, fresh] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  const lines = MOST_DIFF_LINES - around.length;
  // Each side gets half of the lines, and what the other one leaves.
  const half = Math.floor(lines / 2);
  const forOld = Math.max(half, lines - fresh.length);
  const removed = firstLines(old, Math.min(old.length, forOld)).map((line) => `-${line}`);
  const added = firstLines(fresh, Math.min(fresh.length, lines - removed.length)).map((line) => `+${line}`);
  const lead = (edit.all ? 1 : 0) + Math.min(start, 1);
  return [...around.slice(0, lead), ...removed, ...added, ...around.slice(lead)].join("\n");
}

/** The arguments of a plugin's call. */
export function argumentsPreview(params: Record<string, unknown>): string {
  return firstLines(JSON.stringify(params, null, 2).split("\n"), MOST_DIFF_LINES).join("\n");
}
