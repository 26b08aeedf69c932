/** Counts what a harness adds to a conversation itself: tokens of the window that the engine cannot use. */
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import type { WireRequest } from "../dialect/wire-dialect.ts";

/** Rounding step, tokens. Ids and times in a body vary in token length, and the budget must not vary with them. */
const STEP = 256;

/**
 * Tokens of system prompt, tools and leading elements, and of the settings between messages: what a spliced request has besides the
 * engine's context. The same bytes give the same count.
 */
export class FixedPart {
  readonly #before = new Measured();
  readonly #after = new Measured();
  readonly #among = new Measured();

  tokensOf({ body, list, items, prefixCount, liveFrom }: WireRequest): number {
    const first = items[prefixCount]?.start ?? list.end;
    const settings: Buffer[] = [];
    for (const [index, item] of items.entries()) {
      if (index < prefixCount) continue;
      const isSetting = item.kind === "setting";
      const words = isSetting ? body.subarray(item.start, item.end) : item.surroundings;
      // A setting that was only valid for its moment is only sent if it is in the live turn.
      if (words && !(item.isPassing === true && index < liveFrom)) settings.push(words);
    }
    const tokens =
      this.#before.tokensOf(body.subarray(0, first)) +
      this.#after.tokensOf(body.subarray(Math.max(first, list.end))) +
      this.#among.tokensOf(Buffer.concat(settings));
    return Math.ceil(tokens / STEP) * STEP;
  }
}

/** Cached count of a part, as most bytes of a request equal the previous one's. */
class Measured {
  #bytes = Buffer.alloc(0);
  #tokens = 0;

  tokensOf(bytes: Buffer): number {
    if (this.#bytes.equals(bytes)) return this.#tokens;
    // Copied: a view would keep the whole body.
    this.#bytes = Buffer.from(bytes);
    return (this.#tokens = estimateTokens(bytes.toString("utf8")));
  }
}
