/** Texts of parsed JSON without half surrogate pairs, which no provider accepts and UTF-8 cannot hold. */
import { isRecord } from "./record-fields.ts";

/** Only an escape can put such a half into JSON. */
const ESCAPE = /\\u[dD][89a-fA-F]/;

/** Whether JSON may contain half a pair. Fast: most texts have no such escape. */
export function mayHaveHalves(json: Buffer): boolean {
  return (json.includes("\\ud") || json.includes("\\uD")) && ESCAPE.test(json.toString("latin1"));
}

/** A copy with U+FFFD in place of each half of a pair, in names of members too. The depth of the value has to be bounded. */
export function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name.toWellFormed(), wellFormed(each)]),
  );
}

/** As `JSON.stringify`, with U+FFFD for each half of a pair. The text of an escape in a string counts as none. */
export function wellFormedJson(value: object): string {
  const json = JSON.stringify(value);
  return ESCAPE.test(json) ? JSON.stringify(wellFormed(value)) : json;
}
