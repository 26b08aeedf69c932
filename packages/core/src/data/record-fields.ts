/** Reads unchecked values, such as the JSON of another program, field by field. */

import { attempt } from "./attempt.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** True for an object with keys; false for null and for a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True also for a list, whose fields are its indices. */
export function isObjectOrList(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** The value if it is a record, else a record without keys. */
export function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

export function asRecord(value: unknown): Fields | undefined {
  return isRecord(value) ? value : undefined;
}

/** As `recordOf`, but keeps a list. */
export function objectOrListOf(value: unknown): Fields {
  return isObjectOrList(value) ? value : {};
}

/** Undefined if the value has no fields. */
export function fieldOf(value: unknown, key: string): unknown {
  return isObjectOrList(value) ? value[key] : undefined;
}

/** The value if it is a list, else an empty list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** The elements of a list as records; an element that is none has no keys. */
export function recordsOf(value: unknown): readonly Fields[] {
  return listOf(value).map(recordOf);
}

/** The value if it is a string, else an empty string. */
export function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Undefined for an empty string too. */
export function filledString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Undefined if it is no number, or negative. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Undefined for text that is no JSON: a proxy's page, or a truncated line. */
export function parseJson(text: string): unknown {
  return attempt((): unknown => JSON.parse(text));
}

/** Undefined for text that is no JSON object. */
export function parseRecord(text: string): Fields | undefined {
  return asRecord(parseJson(text));
}
