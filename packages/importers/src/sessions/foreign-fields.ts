/** Reading the JSON of other programs, with every field checked. */
import { asRecord, type Fields } from "@pagurus/core/data/record-fields";

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The end of the year 9999: later ones have another ISO form. */
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
    // `trim` removes a byte order mark, which JSON does not allow.
    return asRecord(JSON.parse(text.trim()));
  } catch {
    // The caller keeps the text as it is.
    return undefined;
  }
}
