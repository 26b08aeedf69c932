/** Reading JSON of other programs: nothing is taken for granted. */
export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** A text that is not empty. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** The end of the year 9999: later ones are written in another form. */
const LAST_TIME = 253_402_300_799_999;

/** Milliseconds since the epoch of an ISO 8601 text, of SQLite's `YYYY-MM-DD HH:MM:SS` (UTC), or of a number of them. */
export function timeOf(value: unknown): number | undefined {
  if (typeof value === "number") return value > 0 && value <= LAST_TIME ? value : undefined;
  if (typeof value !== "string") return undefined;
  const sqlite = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?$/.test(value);
  const time = Date.parse(sqlite ? `${value.replace(" ", "T")}Z` : value);
  return time > 0 && time <= LAST_TIME ? time : undefined;
}

/** A JSON object in a text; undefined for any other text. */
export function parseFields(text: unknown): Fields | undefined {
  if (typeof text !== "string" || !text.trimStart().startsWith("{")) return undefined;
  try {
    // A mark of the byte order is a blank to `trim`, and no JSON.
    return fieldsOf(JSON.parse(text.trim()));
  } catch {
    // The caller keeps the text as it is.
    return undefined;
  }
}
