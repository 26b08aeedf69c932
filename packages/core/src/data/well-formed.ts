/** Texts of parsed JSON without half surrogate pairs, which no provider accepts and UTF-8 cannot hold. */
import { isRecord } from "./record-fields.ts";

/** Only an escape can put such a half into JSON. */
const ESCAPE = /\\u[dD][89a-fA-F]/;

/** Whether JSON may contain half a pair. Fast: most texts have no such escape. */
function mayHaveHalves(json: Buffer): boolean {
  return (json.includes("\\ud") || json.includes("\\uD")) && ESCAPE.test(json.toString("latin1"));
}

const MEMBER = { enumerable: true, writable: true, configurable: true };

/** A copy with U+FFFD in place of each half of a pair, in names of members too. */
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (!isNested(value)) return value;
  const whole = emptyLike(value);
  const open: [from: object, to: object][] = [[value, whole]];
  // Without recursion: arguments of a call may be nested deeper than the stack.
  for (let next = open.pop(); next; next = open.pop())
    for (const [key, inner] of Object.entries(next[0]) as [string, unknown][]) {
      const isParent = isNested(inner);
      const copy = isParent ? emptyLike(inner) : typeof inner === "string" ? inner.toWellFormed() : inner;
      Object.defineProperty(next[1], key.toWellFormed(), { value: copy, ...MEMBER });
      if (isParent) open.push([inner, copy as object]);
    }
  return whole;
}

/** The value of a JSON text, with U+FFFD for each half of a pair. Throws `SyntaxError`. */
export function parseWellFormed(json: Buffer): unknown {
  const value = JSON.parse(json.toString("utf8")) as unknown;
  return mayHaveHalves(json) ? wellFormed(value) : value;
}

function isNested(value: unknown): value is object {
  return Array.isArray(value) || isRecord(value);
}

function emptyLike(value: object): object {
  return Array.isArray(value) ? [] : {};
}

/** The same value without half pairs. `json`: its text, which mostly shows that there are none. */
export function wellFormedParsed<T extends object>(value: T, json: string): T {
  return json.isWellFormed() && !ESCAPE.test(json) ? value : (wellFormed(value) as T);
}

/** As `JSON.stringify`, with U+FFFD for each half of a pair. The text of an escape in a string counts as none. */
export function wellFormedJson(value: object): string {
  const json = JSON.stringify(value);
  // A search for a fixed text is many times faster than one for the pattern.
  return json.includes("\\ud") && ESCAPE.test(json) ? JSON.stringify(wellFormed(value)) : json;
}
