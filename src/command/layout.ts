/** Plain-text layout that every channel can show: tables, numbers, and text made safe for a terminal. */

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

/** Terminal columns of a text, near enough: wide East Asian characters and emoji count twice. */
function textWidth(text: string): number {
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

/** `12345` as `12,345`; the same in every locale. */
export function count(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A number with its noun: `1 entry`, `2 entries`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  if (value < 1024 ** 2) return `${(value / 1024).toFixed(1)} KB`;
  if (value < 1024 ** 3) return `${(value / 1024 ** 2).toFixed(1)} MB`;
  return `${(value / 1024 ** 3).toFixed(1)} GB`;
}

/** US dollars with the digits that matter for small sums. */
export function dollars(value: number): string {
  if (value === 0 || value >= 1) return `$${value.toFixed(2)}`;
  return value >= 0.01 ? `$${value.toFixed(3).replace(/0$/, "")}` : `$${value.toFixed(5)}`;
}

/** `2026-11-21T22:02:18.123Z` as `2026-11-21 22:02:18`, in UTC like the transcript. */
export function time(iso: string): string {
  return iso.slice(0, 19).replace("T", " ");
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
 * A text for a person to decide on: what could move the cursor, hide or reorder characters is written out as
 * `\\u001b`; newlines and tabs stay.
 */
export function terminalVisible(text: string): string {
  return text.replace(
    // eslint-disable-next-line no-control-regex
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/**
 * Text from a model or a tool for a terminal: keeps newlines and tabs, drops what could move the cursor, recolour
 * or retitle the terminal.
 */
export function terminalSafe(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "");
}
