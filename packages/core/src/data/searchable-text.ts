/** A long text in which many short ones are looked for, most of which it does not have. */

/** Code units of a window; shorter texts are looked for as usual. */
const WINDOW_UNITS = 6;
const FACTOR = 0x01_00_01_93;
const CUBE = Math.imul(Math.imul(FACTOR, FACTOR), FACTOR);
/** `FACTOR ** WINDOW`, by which the unit that leaves a window was multiplied. */
const LEAVING = Math.imul(CUBE, CUBE);
/** Spreads the low bits of a hash over the high ones, which are its place. */
const SPREAD = 0x9e_37_79_b1;
/** Marks per window of the text: about one in sixteen windows that it does not have looks as if it had. */
const MARKS = 16;
const LEAST_BITS = 10;
const MOST_BITS = 24;

export class SearchableText {
  readonly #text: string;
  /** A bit for each hash of a window of the text; made by the first search. */
  #marks: Uint8Array | undefined;
  readonly #shift: number;

  constructor(text: string) {
    this.#text = text;
    const bits = Math.ceil(Math.log2(text.length * MARKS + 1));
    this.#shift = 32 - Math.min(MOST_BITS, Math.max(LEAST_BITS, bits));
  }

  /** As `String.includes`. The marks answer most of the searches that fail, without reading the text. */
  includes(part: string): boolean {
    if (part.length < WINDOW_UNITS) return this.#text.includes(part);
    const marks = (this.#marks ??= this.#mark());
    for (let start = 0; start <= part.length - WINDOW_UNITS; start += WINDOW_UNITS) {
      let hash = 0;
      for (let at = start; at < start + WINDOW_UNITS; at += 1)
        hash = Math.imul(hash, FACTOR) + part.charCodeAt(at);
      const place = this.#placeOf(hash);
      if (((marks[place >>> 3] ?? 0) & (1 << (place & 7))) === 0) return false;
    }
    return this.#text.includes(part);
  }

  #placeOf(hash: number): number {
    return Math.imul(hash, SPREAD) >>> this.#shift;
  }

  #mark(): Uint8Array {
    const text = this.#text;
    const marks = new Uint8Array(2 ** (32 - this.#shift) / 8);
    let hash = 0;
    for (let at = 0; at < text.length; at += 1) {
      hash = Math.imul(hash, FACTOR) + text.charCodeAt(at);
      if (at >= WINDOW_UNITS) hash -= Math.imul(LEAVING, text.charCodeAt(at - WINDOW_UNITS));
      if (at < WINDOW_UNITS - 1) continue;
      const place = this.#placeOf(hash);
      marks[place >>> 3] = (marks[place >>> 3] ?? 0) | (1 << (place & 7));
    }
    return marks;
  }
}
