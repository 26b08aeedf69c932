/** Words up to this length have their own weight; each further letter costs the same. */
export const LONGEST_WORD = 16;
/** Runs of signs with up to this many different neighbours have their own weight. */
export const LONGEST_SIGNS = 8;

/**
 * Index of each weight. In a table of words or signs the weight of length n is at n, and the weight of each letter
 * or sign beyond the longest one is at 0.
 */
export const SLOT = {
  bareWord: 0,
  spacedWord: 17,
  signedWord: 34,
  bareSigns: 51,
  spacedSigns: 60,
  /** Two weights for each script, a run's start and each letter: Cyrillic, Greek, other alphabets, Hangul, Kana, Han, merged Han. */
  foreign: 69,
  /** A letter of the Latin-1 range, and one beyond it. */
  accent: 83,
  extended: 84,
  /** A letter that is equal to the one before, in a run too long for a word. */
  letterRepeat: 85,
  /** Up to three digits. */
  digits: 86,
  /** Blanks up to the last line end, and blanks after it. */
  lines: 87,
  indent: 88,
  /** A blank that joins nothing. */
  blank: 89,
  /** Each blank and each line end of a run. */
  blankRepeat: 90,
  signRepeat: 91,
  wideSign: 92,
  symbol: 93,
  wideRepeat: 94,
  surrogate: 95,
} as const;

/**
 * Tokens of `o200k_base` for each feature, fitted by least squares on one half of a corpus of documentation,
 * code, JSON, Markdown and messages in other languages. Printed by `node bench/tokens/fit.ts`; do not edit by hand.
 */
export const WEIGHTS: Readonly<Float64Array> = Float64Array.from([
  // bareWord
  0.214, 1, 1.068, 0.998, 0.737, 1.127, 1.063, 1.292, 1.687, 1.591, 1.586, 1.55, 2.412, 2.102, 2.188, 2.128,
  2.426,
  // spacedWord
  0.773, 0.987, 0.963, 1.084, 0.982, 0.982, 0.948, 1.027, 1.069, 1.248, 1.223, 1.476, 1.449, 1.871, 2.015,
  2.118, 2.614,
  // signedWord
  0.566, 1.049, 0.852, 1.853, 1.386, 1.457, 1.364, 1.987, 1.569, 1.878, 2.046, 2.334, 2.331, 2.403, 2.04,
  2.299, 2.528,
  // bareSigns
  0.779, 0.934, 1.104, 1.222, 1.557, 1.858, 2.717, 3.007, 3.453,
  // spacedSigns
  0.827, 1.032, 1.025, 1.046, 1.944, 2.239, 2.624, 2.898, 3.18,
  // foreign
  0.532, 0.183, 0.23, 0.412, 0.03, 0.455, 0.491, 0.526, 0.101, 0.559, 0, 1.256, 0.511, 0.39,
  // accent
  0.707,
  // extended
  1.511,
  // letterRepeat
  0.133,
  // digits
  1,
  // lines
  1,
  // indent
  1,
  // blank
  1,
  // blankRepeat
  0.001,
  // signRepeat
  0.014,
  // wideSign
  0.689,
  // symbol
  0.743,
  // wideRepeat
  0.068,
  // surrogate
  0.765,
]);
