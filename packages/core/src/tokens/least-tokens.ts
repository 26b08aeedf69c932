/** A lower bound of a text's tokens that costs nothing for a short text and little for a huge one. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { SMALLEST_FACTOR } from "./calibration.ts";
import { estimateTokens } from "./estimate.ts";

/** The longest tokens of the vocabularies in use are runs of this many blanks. */
const LONGEST_TOKEN = 128;
/** No vocabulary in use has more tokens than three for a UTF-16 code unit: one for each byte. */
const MOST_PER_UNIT = 3;
/** Tokens that the two cuts of a slice may add: a run is longer than what the estimate takes as one. */
const CUT = 16;
/** Code units that are counted without a pause: about a millisecond of work. */
const SLICE = 2 ** 16;

/**
 * The number of tokens that the texts have at least, where that is more than `most`; else undefined, also for a text that
 * may be longer. First by the length alone; then counted in slices between which others run, until the limit is passed.
 * The smallest calibration is applied, so nothing is found too long that `Calibration` could make fit.
 */
export async function tokensOver(texts: readonly string[], most: number): Promise<number | undefined> {
  const units = texts.reduce((sum, { length }) => sum + length, 0);
  if (units * MOST_PER_UNIT <= most) return undefined;
  const byLength = Math.ceil(units / LONGEST_TOKEN);
  if (byLength > most) return byLength;
  let least = 0;
  for (const text of texts) {
    for (let at = 0; at < text.length; at += SLICE) {
      if (at > 0) await nextTurn();
      least += Math.max(0, estimateTokens(text.slice(at, at + SLICE)) - CUT) * SMALLEST_FACTOR;
      if (least > most) return Math.ceil(least);
    }
  }
  return undefined;
}
