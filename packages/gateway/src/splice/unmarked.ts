/**
 * Content of a message of the Messages API without cache marks. They move from request to request, and with them a text becomes a list of
 * one text.
 */
import {
  QUOTE,
  COMMA,
  COLON,
  OPEN_ARRAY,
  CLOSE_ARRAY,
  OPEN_OBJECT,
  CLOSE_OBJECT,
  objectMembers,
  skipSpace,
  skipString,
  skipValue,
  textAt,
  type Span,
} from "../json/scan.ts";

const MARK = "cache_control";
const MARK_NAME = Buffer.from(`"${MARK}"`);
const CONTENT_NAME = Buffer.from('"content"');
/** Depth of a tool result's members. Bounds how often a nested text is scanned. */
const DEEPEST_CONTENT = 3;

/** Returns the parts of the message's bytes to compare, in order. Linear in its length. Throws `JsonScanError`. */
export function unmarked(message: Buffer): Buffer[] {
  return new Reader(message).kept();
}

class Reader {
  readonly #text: Buffer;
  readonly #kept: Buffer[] = [];
  /** Everything before is kept or left out. */
  #from = 0;
  #at = 0;
  #depth = 0;
  /** End of the value before the last comma; -1 if something followed the comma. */
  #before = -1;

  constructor(text: Buffer) {
    this.#text = text;
  }

  kept(): Buffer[] {
    const text = this.#text;
    while (this.#at < text.length) {
      const end = this.#at;
      this.#at = skipSpace(text, end);
      const byte = text[this.#at];
      if (byte === QUOTE) this.#string();
      else if (byte === COMMA) this.#comma(end);
      else this.#other(byte);
    }
    this.#leaveOut(text.length, text.length);
    return this.#kept;
  }

  #comma(before: number): void {
    this.#before = before;
    this.#at += 1;
  }

  #other(byte: number | undefined): void {
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#depth += 1;
    if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#depth -= 1;
    this.#before = -1;
    this.#at += 1;
  }

  #string(): void {
    const start = this.#at;
    const end = skipString(this.#text, start);
    const isMark = this.#is(MARK_NAME, start, end);
    const isContent = this.#depth <= DEEPEST_CONTENT && this.#is(CONTENT_NAME, start, end);
    const value = isMark || isContent ? this.#valueAfter(end) : undefined;
    if (isMark && value !== undefined) return this.#mark(value);
    this.#before = -1;
    this.#at = end;
    if (isContent && value !== undefined) this.#content(value);
  }

  #is(name: Buffer, start: number, end: number): boolean {
    return end - start === name.length && this.#text.compare(name, 0, name.length, start, end) === 0;
  }

  /** Offset of the value whose name ends at `end`; undefined after a string that is no name. */
  #valueAfter(end: number): number | undefined {
    const colon = skipSpace(this.#text, end);
    return this.#text[colon] === COLON ? skipSpace(this.#text, colon + 1) : undefined;
  }

  /** Leaves out a mark with the comma before it, or after it if it is the object's first member. */
  #mark(value: number): void {
    const end = skipValue(this.#text, value);
    const next = skipSpace(this.#text, end);
    if (this.#before >= 0) this.#leaveOut(this.#before, end);
    else this.#leaveOut(this.#at, this.#text[next] === COMMA ? skipSpace(this.#text, next + 1) : end);
    this.#before = -1;
  }

  /** Keeps of a list of one text the text alone. */
  #content(start: number): void {
    const text = loneText(this.#text, start);
    if (!text) return;
    this.#leaveOut(start, text.start);
    this.#leaveOut(text.end, text.listEnd);
  }

  #leaveOut(from: number, to: number): void {
    if (from > this.#from) this.#kept.push(this.#text.subarray(this.#from, from));
    this.#from = to;
    this.#at = to;
  }
}

/** The string in a list of one text block; undefined for any other value. */
function loneText(text: Buffer, start: number): (Span & { listEnd: number }) | undefined {
  if (text[start] !== OPEN_ARRAY) return undefined;
  const first = skipSpace(text, start + 1);
  if (text[first] !== OPEN_OBJECT) return undefined;
  const last = skipSpace(text, skipValue(text, first));
  if (text[last] !== CLOSE_ARRAY) return undefined;
  const members = objectMembers(text, { start: first, end: last });
  const others = [...members.keys()].filter((name) => name !== "type" && name !== "text" && name !== MARK);
  const words = members.get("text");
  if (others.length > 0 || textAt(text, members.get("type")) !== "text") return undefined;
  return words && text[words.start] === QUOTE ? { ...words, listEnd: last + 1 } : undefined;
}
