/** What a harness adds to a conversation by itself, whatever the engine says: that much of a window is never the engine's. */
import { estimateTokens } from "../../tokens/estimate.ts";
import type { WireRequest } from "./dialect/dialect.ts";

/** Ids and times in a body are not of one length in tokens, and no budget is to move with them. */
const STEP = 256;

/**
 * Tokens of system prompt, tools and leading elements, and of the surroundings told among the words: what a request has behind
 * the splice beside the engine's context. The same bytes give the same count.
 */
export class FixedPart {
  readonly #before = new Measured();
  readonly #behind = new Measured();
  readonly #among = new Measured();

  tokensOf({ body, list, items, prefixCount, liveFrom }: WireRequest): number {
    const first = items[prefixCount]?.start ?? list.end;
    const told: Buffer[] = [];
    for (const [index, item] of items.entries()) {
      if (index < prefixCount) continue;
      const isSetting = item.kind === "setting";
      const words = isSetting ? body.subarray(item.start, item.end) : item.surroundings;
      // What held for its moment only goes on where the live turn has it.
      if (words && !(item.isPassing === true && index < liveFrom)) told.push(words);
    }
    const tokens =
      this.#before.tokensOf(body.subarray(0, first)) +
      this.#behind.tokensOf(body.subarray(Math.max(first, list.end))) +
      this.#among.tokensOf(Buffer.concat(told));
    return Math.ceil(tokens / STEP) * STEP;
  }
}

/** One request's bytes are mostly those of the request before. */
class Measured {
  #bytes = Buffer.alloc(0);
  #tokens = 0;

  tokensOf(bytes: Buffer): number {
    if (this.#bytes.equals(bytes)) return this.#tokens;
    // A copy: a view would keep the whole body.
    this.#bytes = Buffer.from(bytes);
    return (this.#tokens = estimateTokens(bytes.toString("utf8")));
  }
}
