/**
 * Scans JSON text for the places of its values without parsing it, so that what is kept of a request is passed on byte for byte.
 * Checks only as much as needed to find the places; a part is validated by `JSON.parse` of it.
 */

/** Offsets in bytes; `end` is exclusive. */
export interface Span {
  start: number;
  end: number;
}

/** Thrown for bytes that are not JSON where they were scanned. */
export class JsonScanError extends Error {
  constructor(what: string, at: number) {
    super(`${what} at byte ${at}`);
    this.name = "JsonScanError";
  }
}

export const QUOTE = 0x22;
const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
/** Bytes of a string that are scanned one by one before the runtime's own search, which is only faster for long strings. */
const NEAR = 48;
const MOST_NEAR = 4096;

/** Returns the offset of the first byte from `from` on that is no white space. */
export function skipSpace(text: Buffer, from: number): number {
  let at = from;
  for (; at < text.length; at++) {
    const byte = text[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
  }
  return at;
}

/** Returns the offset after the string that begins at `from`. Throws `JsonScanError`. */
export function skipString(text: Buffer, from: number): number {
  let at = from + 1;
  for (let near = NEAR; ; near = Math.min(near * 2, MOST_NEAR)) {
    const end = Math.min(text.length, at + near);
    while (at < end) {
      const byte = text[at];
      if (byte === QUOTE) return at + 1;
      at += byte === BACKSLASH ? 2 : 1;
    }
    // No byte before `at` escapes it, so backslashes are counted from here.
    const quote = at < text.length ? text.indexOf(QUOTE, at) : -1;
    if (quote < 0) throw new JsonScanError("a string has no end", from);
    let slashes = 0;
    while (quote - 1 - slashes >= at && text[quote - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
    // Text with one quote mostly has more, and is scanned faster byte by byte.
    at = quote + 1;
  }
}

/** Returns the offset after the value that begins at `from`. Throws `JsonScanError`. */
export function skipValue(text: Buffer, from: number): number {
  const first = text[from];
  if (first === QUOTE) return skipString(text, from);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return skipPlain(text, from);
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const byte = text[at];
    if (byte === QUOTE) at = skipString(text, at) - 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  throw new JsonScanError("a list or object has no end", from);
}

/** Skips a number or literal without validating it. */
function skipPlain(text: Buffer, from: number): number {
  let at = from;
  for (; at < text.length; at++) {
    const byte = text[at] ?? 0;
    const isPart =
      (byte >= 0x30 && byte <= 0x39) ||
      (byte >= 0x61 && byte <= 0x7a) ||
      byte === 0x2b ||
      byte === 0x2d ||
      byte === 0x2e ||
      byte === 0x45;
    if (!isPart) break;
  }
  if (at === from) throw new JsonScanError("there is no value", from);
  return at;
}

/** Iterates over the list at `span`; `element` returns where the value that begins at an offset ends. Throws `JsonScanError`. */
function eachElement(text: Buffer, span: Span, element: (start: number) => number): void {
  if (text[span.start] !== OPEN_ARRAY) throw new JsonScanError("there is no list", span.start);
  let at = skipSpace(text, span.start + 1);
  let isFirst = true;
  while (!isFirst || text[at] !== CLOSE_ARRAY) {
    isFirst = false;
    at = skipSpace(text, element(at));
    if (text[at] === CLOSE_ARRAY) break;
    if (text[at] !== COMMA) throw new JsonScanError("a list continues without a comma", at);
    at = skipSpace(text, at + 1);
  }
}

/** Spans of the values of the list at `span`. Throws `JsonScanError`. */
export function arrayElements(text: Buffer, span: Span): Span[] {
  const found: Span[] = [];
  eachElement(text, span, (start) => {
    const end = skipValue(text, start);
    found.push({ start, end });
    return end;
  });
  return found;
}

/** An object in a list, with the spans of its values. */
export interface ObjectSpan extends Span {
  members: Map<string, Span>;
}

/** The objects of the list at `span`; undefined if it contains anything else. Throws `JsonScanError`. */
export function arrayObjects(text: Buffer, span: Span): ObjectSpan[] | undefined {
  const found: ObjectSpan[] = [];
  let hasOthers = false;
  eachElement(text, span, (start) => {
    if (text[start] !== OPEN_OBJECT) {
      hasOthers = true;
      return skipValue(text, start);
    }
    const { found: members, end } = membersFrom(text, start);
    found.push({ start, end, members });
    return end;
  });
  return hasOthers ? undefined : found;
}

/** Spans of the values of the object at `span`, by name; for a duplicate name the last one. Throws `JsonScanError`. */
export function objectMembers(text: Buffer, span: Span): Map<string, Span> {
  return membersFrom(text, span.start).found;
}

/** The same for a text that is one object, in one pass. Throws `JsonScanError` if something follows. */
export function wholeMembers(text: Buffer): Map<string, Span> {
  const { found, end } = membersFrom(text, skipSpace(text, 0));
  const after = skipSpace(text, end);
  if (after < text.length) throw new JsonScanError("something follows the value", after);
  return found;
}

function membersFrom(text: Buffer, start: number): { found: Map<string, Span>; end: number } {
  if (text[start] !== OPEN_OBJECT) throw new JsonScanError("there is no object", start);
  const found = new Map<string, Span>();
  let at = skipSpace(text, start + 1);
  while (found.size > 0 || text[at] !== CLOSE_OBJECT) {
    if (text[at] !== QUOTE) throw new JsonScanError("an object's member has no name", at);
    const named = skipString(text, at);
    const name = textAt(text, { start: at, end: named }) ?? "";
    at = skipSpace(text, named);
    if (text[at] !== COLON) throw new JsonScanError("an object's member has no value", at);
    at = skipSpace(text, at + 1);
    const end = skipValue(text, at);
    found.set(name, { start: at, end });
    at = skipSpace(text, end);
    if (text[at] === CLOSE_OBJECT) break;
    if (text[at] !== COMMA) throw new JsonScanError("an object continues without a comma", at);
    at = skipSpace(text, at + 1);
  }
  return { found, end: at + 1 };
}

/** The span of the whole text's value, without surrounding white space. Throws `JsonScanError` if something follows. */
export function wholeValue(text: Buffer): Span {
  const start = skipSpace(text, 0);
  const end = skipValue(text, start);
  const after = skipSpace(text, end);
  if (after < text.length) throw new JsonScanError("something follows the value", after);
  return { start, end };
}

/** Throws `JsonScanError`. */
export function parsePart(text: Buffer, { start, end }: Span): unknown {
  try {
    return JSON.parse(text.toString("utf8", start, end)) as unknown;
  } catch {
    throw new JsonScanError("a value is no JSON", start);
  }
}

/** The parsed value; undefined if it is invalid inside: its place is known, its content is not. */
export function readable(text: Buffer, span: Span): unknown {
  try {
    return parsePart(text, span);
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

/** The string at `span`; undefined if absent or no string. Throws `JsonScanError` for an invalid escape. */
export function textAt(text: Buffer, span: Span | undefined): string | undefined {
  if (!span || text[span.start] !== QUOTE) return undefined;
  // Names and ids are short; the runtime's own search would cost more.
  for (let at = span.start + 1; at < span.end; at++)
    if (text[at] === BACKSLASH) return String(parsePart(text, span));
  return text.toString("utf8", span.start + 1, span.end - 1);
}
