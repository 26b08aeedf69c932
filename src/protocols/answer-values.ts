/** Values of an answer whose meaning is plain in more than one type. */
import { type Fields, isRecord, listOf, recordOf, stringOf } from "../data/record-fields.ts";

/** An id, a name or a code: text, or a number as text; empty for anything else. */
export function plainText(value: unknown): string {
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

/** The text with each half of a surrogate pair replaced. */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}

/** The JSON escape of a surrogate, the only form of a half pair in JSON text. */
const SURROGATE = /\\u[dD][89a-fA-F]/;

/** The same value with half surrogate pairs in its texts and keys replaced. `json`: its text, which mostly shows that there are none. */
export function wellFormedJson<T extends Record<string, unknown>>(value: T, json: string): T {
  if (json.isWellFormed() && !SURROGATE.test(json)) return value;
  const whole: Record<string, unknown> = {};
  const open: [from: Fields | readonly unknown[], to: Record<string, unknown>][] = [[value, whole]];
  // Without recursion: arguments may be nested deeper than the stack.
  for (let next = open.pop(); next; next = open.pop())
    for (const [key, inner] of Object.entries(next[0])) {
      const isNested = typeof inner === "object" && inner !== null;
      const made = typeof inner === "string" ? inner.toWellFormed() : inner;
      const copy: unknown = isNested ? (Array.isArray(inner) ? [] : {}) : made;
      Object.defineProperty(next[1], key.toWellFormed(), { value: copy, ...OPEN });
      if (isNested) open.push([inner as Fields, copy as Record<string, unknown>]);
    }
  return whole as T;
}

const OPEN = { enumerable: true, writable: true, configurable: true };
