/** Plain-text layout that every channel can show: tables, numbers, and text made safe for a terminal. */
import { plural } from "@pagurus/core/data/plain-numbers";

/** Lines of aligned columns, two spaces apart; columns in `right` (by index) are aligned to the right. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => textWidth(row[column] ?? ""))));
  return all.map((row) =>
    widths
      .map((width, column) => {
        const cell = row[column] ?? "";
        const fill = " ".repeat(width - textWidth(cell));
        return right.includes(column) ? fill + cell : cell + fill;
      })
      .join("  ")
      .trimEnd(),
  );
}

/** Approximate terminal columns of a text: wide East Asian characters and emoji count twice. */
export function textWidth(text: string): number {
  let width = 0;
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    const wide =
      (code >= 0x1100 && code <= 0x115f) ||
      (code >= 0x2e80 && code <= 0xa4cf) ||
      (code >= 0xac00 && code <= 0xd7a3) ||
      (code >= 0xf900 && code <= 0xfaff) ||
      (code >= 0xfe30 && code <= 0xfe6f) ||
      (code >= 0xff00 && code <= 0xff60) ||
      (code >= 0x1f300 && code <= 0x1faff);
    width += wide ? 2 : 1;
  }
  return width;
}

/** Maximum columns of the left cells, and minimum of the right ones. */
const WIDEST_LEFT = 34;
const NARROWEST_RIGHT = 30;

/** Lines of short names and their descriptions, wrapped between words; a name that is too long has its own line. */
export function twoColumns(rows: readonly { left: string; right: string }[], columns = Infinity): string[] {
  const width = Math.min(WIDEST_LEFT, Math.max(...rows.map(({ left }) => textWidth(left))));
  const indent = " ".repeat(Math.max(4, Math.min(width + 2, columns - NARROWEST_RIGHT)));
  return rows.flatMap(({ left, right }) => {
    const [first = "", ...rest] = wrapWords(right, Math.max(1, columns - indent.length));
    const gap = indent.length - textWidth(left);
    const top = gap >= 2 ? [left + " ".repeat(gap) + first] : [...wrapWords(left, columns), indent + first];
    return [...top, ...rest.map((line) => indent + line)];
  });
}

/** Wraps a text into lines of at most `columns`; a longer word has a line of its own, cut by characters. */
function wrapWords(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).filter((part) => part !== "")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (textWidth(longer) <= columns) {
      line = longer;
      continue;
    }
    if (line !== "") lines.push(line);
    line = word;
    while (textWidth(line) > columns) {
      const head = firstColumns(line, columns);
      lines.push(head);
      line = line.slice(head.length);
    }
  }
  return line === "" && lines.length > 0 ? lines : [...lines, line];
}

/** The beginning of a text that fits into `columns`; at least one character. */
function firstColumns(text: string, columns: number): string {
  let head = "";
  for (const char of text) {
    if (head !== "" && textWidth(head + char) > columns) break;
    head += char;
  }
  return head;
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  if (value < 1024 ** 2) return `${(value / 1024).toFixed(1)} KB`;
  if (value < 1024 ** 3) return `${(value / 1024 ** 2).toFixed(1)} MB`;
  return `${(value / 1024 ** 3).toFixed(1)} GB`;
}

/** `2026-11-21T22:02:18.123Z` as `2026-11-21 22:02:18`, in UTC like the transcript. */
export function time(iso: string): string {
  return iso.slice(0, 19).replace("T", " ");
}

/** How long ago a time was: `just now`, `5 minutes ago`, `3 days ago`. */
export function ago(iso: string, now: number): string {
  const minutes = Math.floor((now - Date.parse(iso)) / 60_000);
  if (!(minutes >= 1)) return "just now";
  if (minutes < 60) return `${plural(minutes, "minute")} ago`;
  if (minutes < 48 * 60) return `${plural(Math.floor(minutes / 60), "hour")} ago`;
  return `${plural(Math.floor(minutes / (24 * 60)), "day")} ago`;
}

/** One line of at most `limit` characters; control characters become spaces. */
export function oneLine(text: string, limit: number): string {
  const flat = text
    .slice(0, limit * 4)
    // eslint-disable-next-line no-control-regex
    .replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, " ")
    .trim();
  const chars = Array.from(flat);
  return chars.length <= limit ? flat : `${chars.slice(0, limit - 1).join("")}…`;
}

/**
 * Text from a model or a tool for a terminal: keeps newlines and tabs, drops control characters that could move the cursor,
 * recolour or retitle the terminal.
 */
export function terminalSafe(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "");
}
