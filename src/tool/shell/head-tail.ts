/** Keeps the head and the tail of an output of any length, in bounded memory. */

export class HeadTail {
  #head = "";
  #tail = "";
  /** Number of characters dropped between head and tail. */
  #dropped = 0;
  readonly #half: number;

  /** `most`: total characters kept, half of them from each end. */
  constructor(most: number) {
    this.#half = Math.floor(most / 2);
  }

  push(text: string): void {
    const missing = this.#half - this.#head.length;
    const toHead = this.#dropped === 0 && this.#tail === "" ? text.slice(0, Math.max(0, missing)) : "";
    this.#head += toHead;
    this.#tail += text.slice(toHead.length);
    // Trimmed only occasionally, so that many small chunks do not copy the tail each time.
    if (this.#tail.length > this.#half * 4) this.#trim();
  }

  #trim(): void {
    const over = this.#tail.length - this.#half;
    if (over <= 0) return;
    this.#dropped += over;
    this.#tail = this.#tail.slice(over);
  }

  /** The kept text; a cut is marked with the number of dropped characters. */
  text(): { text: string; cut: boolean } {
    this.#trim();
    if (this.#dropped === 0) return { text: this.#head + this.#tail, cut: false };
    // Half a surrogate pair at a cut would not survive UTF-8.
    const head = this.#head.replace(/[\uD800-\uDBFF]$/, "");
    const tail = this.#tail.replace(/^[\uDC00-\uDFFF]/, "");
    return { text: `${head}\n[… ${this.#dropped} characters left out …]\n${tail}`, cut: true };
  }
}
