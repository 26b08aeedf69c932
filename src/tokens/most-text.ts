/**
 * Characters of the texts of one input or message, and of any other text of a request: more than the largest windows in use take of any
 * language, and few enough for each step of the work on them to be short.
 */
export const MOST_TEXT = 8 * 2 ** 20;
