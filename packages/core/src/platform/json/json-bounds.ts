/** Bounds of a JSON text that are checked in its bytes, before anything is made of it. */
import { PagurusError } from "@pagurus/contract/errors";

export interface JsonBounds {
  /** Members and items of all objects and arrays together. */
  maxItems: number;
  /** Objects and arrays within each other. */
  maxDepth: number;
  /** Members of one object: those with thousands are slow in every step, far more than as many items of lists. */
  maxMembers: number;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Counts items and depth of a JSON text that comes in pieces. Of a text that is no JSON it finds some number. */
export class JsonMeter {
  readonly #bounds: JsonBounds;
  #items = 0;
  #depth = 0;
  /** Members of the open objects, by depth; -1 for a list. */
  readonly #members: number[] = [];
  #isString = false;
  /** The last piece ended in a string with a backslash that escapes what follows. */
  #isEscaped = false;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  /** Throws `body_too_long`. */
  add(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#isString) {
        at = this.#endOfString(bytes, at);
        continue;
      }
      const byte = bytes[at++];
      if (byte === QUOTE) this.#isString = true;
      else if (byte === COMMA) this.#next();
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        this.#items += 1;
        this.#depth += 1;
        if (this.#depth > this.#bounds.maxDepth) throw this.#tooMuch("nests deeper than", "maxDepth");
        this.#members[this.#depth] = byte === OPEN_OBJECT ? 1 : -1;
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) this.#depth -= 1;
    }
    if (this.#items > this.#bounds.maxItems) throw this.#tooMuch("has more items than", "maxItems");
  }

  #next(): void {
    this.#items += 1;
    const members = this.#members[this.#depth] ?? -1;
    if (members < 0) return;
    if (members >= this.#bounds.maxMembers)
      throw this.#tooMuch("has an object with more members than", "maxMembers");
    this.#members[this.#depth] = members + 1;
  }

  /** The place after the string's end, or after the piece. */
  #endOfString(bytes: Uint8Array, from: number): number {
    let at = this.#isEscaped ? from + 1 : from;
    this.#isEscaped = false;
    for (;;) {
      const quote = bytes.indexOf(QUOTE, at);
      const end = quote < 0 ? bytes.length : quote;
      let escapes = 0;
      while (end - escapes > at && bytes[end - escapes - 1] === BACKSLASH) escapes += 1;
      if (quote < 0) {
        this.#isEscaped = escapes % 2 === 1;
        return bytes.length;
      }
      at = quote + 1;
      if (escapes % 2 === 1) continue;
      this.#isString = false;
      return at;
    }
  }

  #tooMuch(problem: string, bound: keyof JsonBounds): PagurusError {
    return new PagurusError(
      "body_too_long",
      `The body ${problem} ${this.#bounds[bound]}; send less at once.`,
    );
  }
}
