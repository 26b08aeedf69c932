/**
 * Entry ids of an import: made like all others (9 characters of time, 3 of sequence, 4 more), from the source's time and id, so that the
 * same file gives the same ids.
 */
import { hash } from "node:crypto";
import { base36 } from "@pagurus/core/platform/ids";

const SEQUENCE_LIMIT = 36 ** 3;

export class ImportIds {
  readonly #seed: string;
  /** Latest time: ids from the future would sort after those of later turns. */
  readonly #latest: number;
  #time = 0;
  #sequence = 0;
  #made = 0;

  constructor(seed: string, latest: number) {
    this.#seed = seed;
    this.#latest = latest;
  }

  /** Greater than every id before; `at` in milliseconds since the epoch. */
  next(at: number): string {
    const time = Math.min(Math.floor(at), this.#latest);
    if (time > this.#time) {
      this.#time = time;
      this.#sequence = 0;
    } else if (++this.#sequence >= SEQUENCE_LIMIT) {
      this.#time += 1;
      this.#sequence = 0;
    }
    this.#made += 1;
    const tail = Number.parseInt(hash("sha1", `${this.#seed}\n${this.#made}`, "hex").slice(0, 8), 16);
    return base36(this.#time, 9) + base36(this.#sequence, 3) + base36(tail % 36 ** 4, 4);
  }
}
