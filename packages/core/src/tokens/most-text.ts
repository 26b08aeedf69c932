/**
 * Most characters of the texts of one input or message, and of any other text of a request: more than the largest windows take in any
 * language, and few enough that each step of the work is short.
 */
export const MOST_TEXT = 8 * 2 ** 20;
