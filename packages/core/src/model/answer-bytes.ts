/** The counter that enforces the byte limits of a model answer. */
import { AnswerTooLarge } from "./model-failure.ts";
import type { AnswerLimits } from "./provider-types.ts";

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;

/** Counts the decoded bytes of an answer and of the current event. Events end with an empty line. */
export class AnswerBytes {
  readonly #limits: AnswerLimits;
  #total = 0;
  #event = 0;
  /** Bytes of the current line; a lone carriage return counts as none. */
  #line = 0;

  constructor(limits: AnswerLimits) {
    this.#limits = limits;
  }

  /** Throws `AnswerTooLarge`. */
  take(chunk: Uint8Array): void {
    const { bytes, eventBytes } = this.#limits;
    this.#total += chunk.length;
    if (this.#total > bytes) throw tooLarge("the answer", bytes, "bytes");
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, from);
      const piece = (end < 0 ? chunk.length : end) - from;
      const bare = piece === 1 && chunk[from] === CARRIAGE_RETURN;
      this.#line += bare ? 0 : piece;
      this.#event += piece;
      if (this.#event > eventBytes) throw tooLarge("an event of the answer", eventBytes, "eventBytes");
      if (end < 0) return;
      if (this.#line === 0) this.#event = 0;
      this.#line = 0;
      from = end + 1;
    }
  }
}

function tooLarge(what: string, most: number, key: string): AnswerTooLarge {
  return new AnswerTooLarge(`${what} has more than ${most} bytes (agents.defaults.answerLimits.${key})`);
}
