/** Values of an answer whose meaning is plain in more than one type. */
import { type Fields, isRecord, listOf, recordOf, stringOf } from "../data/record-fields.ts";

/** An id, a name or a code: text, or a number as text; empty for anything else. */
export function plainName(value: unknown): string {
  return typeof value === "number" && Number.isFinite(value) ? String(value) : stringOf(value);
}

/** A count or an index: a number, or its text; undefined for anything else, or below zero. */
export function plainCount(value: unknown): number | undefined {
  const isText = typeof value === "string" && /^\s*\d{1,15}(?:\.0*)?\s*$/.test(value);
  const count = isText ? Number(value) : value;
  return typeof count === "number" && Number.isFinite(count) && count >= 0 ? count : undefined;
}

/** The first count that one of the names has. */
export function firstCount(fields: Fields, names: readonly string[]): number | undefined {
  for (const name of names) {
    const count = plainCount(fields[name]);
    if (count !== undefined) return count;
  }
  return undefined;
}

/** Records in a list; one record counts as a list of itself. */
export function plainRecords(value: unknown): readonly Fields[] {
  return isRecord(value) ? [value] : listOf(value).filter(isRecord);
}

/** A reason: text, or an object that names it. */
export function plainReason(value: unknown): string {
  const { reason, type } = recordOf(value);
  return stringOf(value) || stringOf(reason) || stringOf(type);
}
