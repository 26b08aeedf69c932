/** Formats conversations as list lines: key, title, folder, age, within the width of the terminal. */
import { homedir } from "node:os";
import { plural } from "@pagurus/core/data/plain-numbers";
import { ago, oneLine, table, textWidth } from "@pagurus/host/command/layout";
import type { SessionRecord } from "@pagurus/contract/session/writer";

/** Columns when standard output is not a terminal. */
const PLAIN_WIDTH = 100;
const LONGEST_KEY = 28;
const LONGEST_FOLDER = 30;
const LEAST_TITLE = 12;

/** Title of a conversation: its name, else the person's first text. */
function titleOfRecord({ name, title }: SessionRecord): string {
  return name ?? title ?? "";
}

/** Width of the lines of a list. */
export function listWidth({
  isTTY,
  columns,
}: {
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}): number {
  return isTTY === true && columns !== undefined && columns > 0 ? columns : PLAIN_WIDTH;
}

/** The end of a path, cut to a width; the home folder as `~`. */
function shortPath(path: string, width: number): string {
  const home = homedir();
  const shown = path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
  const chars = Array.from(oneLine(shown, Infinity));
  return chars.length <= width ? chars.join("") : `…${chars.slice(-(width - 1)).join("")}`;
}

/** Head and rows of a table, no line wider than `width`; the title gets the remaining columns. */
export function sessionTable(
  records: readonly SessionRecord[],
  { width, now, numbered = false }: { width: number; now: number; numbered?: boolean },
): string[] {
  const head = [...(numbered ? ["#"] : []), "KEY", "USED", "TURNS", "FOLDER", "TITLE"];
  const before = records.map((record, index) => [
    ...(numbered ? [String(index + 1)] : []),
    oneLine(record.current ? record.sessionKey : `${record.sessionKey} (earlier)`, LONGEST_KEY),
    ago(record.updatedAt, now),
    size(record),
    shortPath(record.folder ?? record.cwd, LONGEST_FOLDER),
  ]);
  const fixed = before[0] === undefined ? 0 : Math.max(...table(head.slice(0, -1), before).map(textWidth));
  const titleWidth = Math.max(LEAST_TITLE, width - fixed - 2);
  const rows = before.map((cells, index) => {
    const record = records[index];
    return [...cells, fitted(record ? titleOfRecord(record) : "", titleWidth)];
  });
  return table(head, rows, [numbered ? 3 : 2]).map((line) => cut(line, width));
}

function size({ turnCount = 0, entryCount }: SessionRecord): string {
  return turnCount > 0 ? String(turnCount) : entryCount > 0 ? plural(entryCount, "entry", "entries") : "0";
}

function fitted(text: string, width: number): string {
  return cut(oneLine(text, width), width);
}

/** Cuts a line to a width; wide characters count twice. */
function cut(line: string, width: number): string {
  if (textWidth(line) <= width) return line;
  const chars = Array.from(line);
  while (chars.length > 0 && textWidth(chars.join("")) > width - 1) chars.pop();
  return `${chars.join("")}…`;
}
