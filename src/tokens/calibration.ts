/** What a `Calibration` remembers, as JSON. */
export interface CalibrationState {
  /** Reported tokens for each estimated one. */
  factor: number;
  /** How many observations it rests on. */
  samples: number;
}

const SMALLEST_FACTOR = 0.5;
const LARGEST_FACTOR = 3;
/** Smaller requests say more of the provider's fixed frame than of the words. Tokens. */
const SMALLEST_SAMPLE = 500;
/** Share of a new observation, once there are enough of them for a mean. */
const NEWEST_SHARE = 0.2;
/** Farthest that one observation may lie from the factor and count in full, as a natural logarithm (1.5 times). */
const FARTHEST = Math.log(1.5);

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

/**
 * A correction of estimates for one model in one session, learned from what the provider reports: a mean of the
 * ratios (plain over the first five, then exponentially weighted), taken in logarithms so that twice and half weigh
 * the same. Bounded to 0.5..3; a single wild report moves it little.
 */
export class Calibration {
  #factor = 1;
  #samples = 0;

  /** Goes on from a stored state; one that is damaged is taken as none. */
  constructor(state?: CalibrationState) {
    if (state === undefined) return;
    const { factor, samples } = state;
    if (!Number.isFinite(factor) || !Number.isSafeInteger(samples) || samples <= 0) return;
    this.#factor = clamp(factor, SMALLEST_FACTOR, LARGEST_FACTOR);
    this.#samples = samples;
  }

  /**
   * Learns from a request: its uncorrected estimate (`estimateTokens`, `messageTokens`) and the input tokens that
   * the provider reported for the same content. Estimates under 500 tokens are not taken into account.
   */
  observe(estimated: number, reported: number): void {
    if (!Number.isFinite(estimated) || estimated < SMALLEST_SAMPLE) return;
    if (!Number.isFinite(reported) || reported <= 0) return;
    const ratio = clamp(reported / estimated, SMALLEST_FACTOR, LARGEST_FACTOR);
    const distance = Math.log(ratio / this.#factor);
    const share = Math.max(NEWEST_SHARE, 1 / (this.#samples + 1));
    // The first observation has nothing to be wild against.
    const step = this.#samples === 0 ? distance : clamp(distance, -FARTHEST, FARTHEST);
    this.#factor = clamp(this.#factor * Math.exp(step * share), SMALLEST_FACTOR, LARGEST_FACTOR);
    this.#samples += 1;
  }

  /** The corrected count, a whole number. */
  apply(estimated: number): number {
    return Math.round(estimated * this.#factor);
  }

  toJSON(): CalibrationState {
    return { factor: this.#factor, samples: this.#samples };
  }
}
