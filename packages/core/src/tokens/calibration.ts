/** State of a `Calibration`, as JSON. */
export interface CalibrationState {
  /** Reported tokens for each estimated one. */
  factor: number;
  /** Number of observations. */
  samples: number;
}

export const SMALLEST_FACTOR = 0.5;
const LARGEST_FACTOR = 3;
/** In smaller requests the provider's fixed overhead outweighs the text. Tokens. */
const SMALLEST_SAMPLE = 500;
/** Weight of a new observation, once there are enough of them for a mean. */
const NEWEST_SHARE = 0.2;
/** Distance of an observation from the factor beyond which it counts no more, as a natural logarithm (1.5 times). */
const FARTHEST = Math.log(1.5);

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

/**
 * Correction factor of estimates for one model in one session, learned from the provider's reports: a mean of the
 * ratios (plain over the first five, then exponentially weighted), taken in logarithms so that twice and half weigh
 * the same. Clamped to 0.5..3; one outlier moves it little.
 */
export class Calibration {
  #factor = 1;
  #samples = 0;

  /** Continues from a stored state; a damaged one is ignored. */
  constructor(state?: CalibrationState) {
    if (state === undefined) return;
    const { factor, samples } = state;
    if (!Number.isFinite(factor) || !Number.isSafeInteger(samples) || samples <= 0) return;
    this.#factor = clamp(factor, SMALLEST_FACTOR, LARGEST_FACTOR);
    this.#samples = samples;
  }

  /**
   * Updates the factor from a request: its uncorrected estimate (`estimateTokens`, `messageTokens`) and the input
   * tokens that the provider reported for the same content. Estimates under 500 tokens are ignored.
   */
  observe(estimated: number, reported: number): void {
    if (!Number.isFinite(estimated) || estimated < SMALLEST_SAMPLE) return;
    if (!Number.isFinite(reported) || reported <= 0) return;
    const ratio = clamp(reported / estimated, SMALLEST_FACTOR, LARGEST_FACTOR);
    const distance = Math.log(ratio / this.#factor);
    const share = Math.max(NEWEST_SHARE, 1 / (this.#samples + 1));
    // The first observation has nothing to be an outlier of.
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
