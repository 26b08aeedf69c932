/** A key that acts when it is pressed twice within a moment. */

/** Window for the second press, ms. */
export const TWICE_MS = 1_000;

export class Twice {
  #at = -Infinity;

  /** True for the second press. */
  press(now = performance.now()): boolean {
    const isSecond = now - this.#at < TWICE_MS;
    this.#at = isSecond ? -Infinity : now;
    return isSecond;
  }
}
