/** The lines that a tool's call changed in files, with their numbers. */
import { asString, recordOf, recordsOf, stringOf } from "@pagurus/core/data/record-fields";

/** `number`: in the new file, or of a removed line in the old one. A `file` line names the file of those after it. */
export interface DiffLine {
  kind: "added" | "removed" | "same" | "gap" | "file";
  number?: number;
  text: string;
}

export interface FileChange {
  path: string;
  lines: readonly DiffLine[];
}

/** Unchanged lines that are shown around a change. */
const AROUND = 2;

/**
 * Changes of a call of the host (`edit`, `write`), Claude Code (`Edit`, `Write`) or Codex (`apply_patch`); none for any other call.
 * `result`: its text, for example `Edited "a.js" at line 12.`.
 */
export function changesOfCall(
  toolName: string,
  args: Record<string, unknown>,
  result: string,
): readonly FileChange[] {
  if (toolName === "apply_patch") return recordsOf(args["changes"]).map(patched);
  const path = asString(args["path"]) ?? asString(args["file_path"]);
  if (path === undefined) return [];
  const content = asString(args["content"]);
  if (/^write$/i.test(toolName) && content !== undefined) return [{ path, lines: all("added", content) }];
  const before = asString(args["old_text"]) ?? asString(args["old_string"]);
  if (!/^edit$/i.test(toolName) || before === undefined) return [];
  const after = asString(args["new_text"]) ?? stringOf(args["new_string"]);
  const line = / at line (\d+)\.$/.exec(result)?.[1];
  return [
    {
      path,
      lines: changedLines(linesOf(before), linesOf(after), line === undefined ? undefined : Number(line)),
    },
  ];
}

/** Their lines in one list; several files are named. */
export function linesOfChanges(changes: readonly FileChange[]): readonly DiffLine[] {
  if (changes.length === 1) return changes[0]?.lines ?? [];
  return changes.flatMap(({ path, lines }) => [{ kind: "file" as const, text: path }, ...lines]);
}

/** `+12 −3`. */
export function changeCounts(changes: readonly FileChange[]): string {
  const lines = changes.flatMap((change) => change.lines);
  const count = (kind: DiffLine["kind"]): number => lines.filter((line) => line.kind === kind).length;
  return `+${count("added")} −${count("removed")}`;
}

const SIGNS = { added: "+", removed: "-", same: " " } as const;

/** A line as text: `  12 + return a + b;`. `digits`: columns of the numbers. */
export function diffText({ kind, number, text }: DiffLine, digits: number): string {
  if (kind === "gap") return `  ${" ".repeat(digits)} ⋮`;
  if (kind === "file") return `  ${text}`;
  return `  ${String(number ?? "").padStart(digits)} ${SIGNS[kind]} ${text}`;
}

/** Columns of the numbers of these lines. */
export function digitsOf(lines: readonly DiffLine[]): number {
  return Math.max(2, ...lines.map(({ number }) => String(number ?? "").length));
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split(/\r?\n/);
}

function all(kind: "added" | "removed", text: string): DiffLine[] {
  return linesOf(text).map((line, index) => ({ kind, number: index + 1, text: line }));
}

/** A change as Codex lists it: a unified diff, or all of a file that is new or deleted. */
function patched({ path, kind, diff }: Readonly<Record<string, unknown>>): FileChange {
  const text = stringOf(diff);
  const type = asString(kind) ?? recordOf(kind)["type"];
  const isWhole = !/^@@ /m.test(text) && (type === "add" || type === "delete");
  const lines = isWhole ? all(type === "add" ? "added" : "removed", text) : unified(text);
  return { path: stringOf(path), lines };
}

/** The lines of a unified diff. */
function unified(diff: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let before = 0;
  let after = 0;
  for (const line of linesOf(diff)) {
    const [, from, to] = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line) ?? [];
    if (from !== undefined) {
      if (lines.length > 0) lines.push({ kind: "gap", text: "" });
      [before, after] = [Number(from), Number(to)];
    } else if (before === 0 && after === 0) continue;
    else if (line.startsWith("+")) lines.push({ kind: "added", number: after++, text: line.slice(1) });
    else if (line.startsWith("-")) lines.push({ kind: "removed", number: before++, text: line.slice(1) });
    else if (!line.startsWith("\\")) {
      lines.push({ kind: "same", number: after++, text: line.slice(1) });
      before += 1;
    }
  }
  return lines;
}

/** One change: the lines that both have at the start and at the end are context. `first`: number of the first line, if it is known. */
function changedLines(
  before: readonly string[],
  after: readonly string[],
  first: number | undefined,
): DiffLine[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const numbered = (kind: DiffLine["kind"], lines: readonly string[], from: number, to: number): DiffLine[] =>
    lines.slice(from, to).map((text, index) => ({
      kind,
      text,
      ...(first !== undefined ? { number: first + from + index } : {}),
    }));
  const bottom = after.length - end;
  return [
    ...numbered("same", after, Math.max(0, start - AROUND), start),
    ...numbered("removed", before, start, before.length - end),
    ...numbered("added", after, start, bottom),
    ...numbered("same", after, bottom, Math.min(after.length, bottom + AROUND)),
  ];
}
