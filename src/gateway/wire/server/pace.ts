/** How much a server writes. A write costs what the machine asks for it, however little it carries. */

/** Of the counting, ms. */
const SPAN_MS = 10;
/** Writes in a span; one stream makes two or three in it, and so many take an eighth of a core. */
const MANY = 100;
/** Between two writes of a stream where there are many, ms: a screen shows no more. */
const APART_MS = 16;

export class WritePace {
  #spanFrom = 0;
  #count = 0;
  #isBusy = false;

  /** A write goes out now. */
  note(now: number): void {
    if (now - this.#spanFrom >= SPAN_MS) {
      // A span without an end is one in which little was written.
      this.#isBusy = this.#count >= MANY && now - this.#spanFrom < 2 * SPAN_MS;
      this.#spanFrom = now;
      this.#count = 0;
    }
    this.#count += 1;
    this.#isBusy ||= this.#count >= MANY;
  }

  /** Until a stream that wrote at `last` is to write again, ms; 0 or less: at once. */
  wait(last: number, now: number): number {
    return this.#isBusy ? last + APART_MS - now : 0;
  }
}
