import { randomBytes } from "node:crypto";

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz";
const SEQUENCE_LIMIT = 36 ** 3;

/** A number of a fixed width, in digits and small letters. */
export function base36(value: number, width: number): string {
  return value.toString(36).padStart(width, "0");
}

/** Pool of random bytes: fetching four takes as long as fetching all of these. */
const pool = { bytes: Buffer.alloc(0), used: 0 };
const POOL_BYTES = 4_096;

function randomText(length: number): string {
  if (pool.used + length > pool.bytes.length) {
    pool.bytes = randomBytes(POOL_BYTES);
    pool.used = 0;
  }
  let text = "";
  for (const byte of pool.bytes.subarray(pool.used, pool.used + length)) text += ALPHABET[byte % 36];
  pool.used += length;
  return text;
}

/**
 * Creates ids of 16 base-36 characters that sort in order of creation: 9 of time (ms), 3 of sequence, 4 random. `floor` is the
 * greatest existing id; a clock set back never produces a smaller one.
 */
export class IdSource {
  #time = 0;
  #sequence = 0;
  readonly #now: () => number;

  constructor(options: { now?: () => number; floor?: string } = {}) {
    this.#now = options.now ?? Date.now;
    if (options.floor) this.raise(options.floor);
  }

  raise(floor: string): void {
    const time = Number.parseInt(floor.slice(0, 9), 36);
    const sequence = Number.parseInt(floor.slice(9, 12), 36);
    if (!Number.isFinite(time) || !Number.isFinite(sequence)) return;
    if (time > this.#time || (time === this.#time && sequence > this.#sequence)) {
      this.#time = time;
      this.#sequence = sequence;
    }
  }

  next(): string {
    const now = this.#now();
    if (now > this.#time) {
      this.#time = now;
      this.#sequence = 0;
    } else if (++this.#sequence >= SEQUENCE_LIMIT) {
      this.#time += 1;
      this.#sequence = 0;
    }
    return base36(this.#time, 9) + base36(this.#sequence, 3) + randomText(4);
  }
}
