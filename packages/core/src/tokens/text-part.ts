/** Long texts a part at a time. */
import { estimateTokens } from "./estimate.ts";

/** Upper estimate of characters per token, for a first cut. */
const TOKEN_CHARS = 4;

/** A part of a text from `offset` on, of at most `maxTokens`; `next` is the offset of the rest, absent at the end. */
export function textPart(whole: string, offset: number, maxTokens: number): { part: string; next?: number } {
  let end = Math.min(whole.length, offset + maxTokens * TOKEN_CHARS);
  while (end > offset + 1 && estimateTokens(whole.slice(offset, end)) > maxTokens)
    end = offset + Math.max(1, Math.floor((end - offset) * 0.9));
  // Never splits a surrogate pair.
  if (end < whole.length && /[\uD800-\uDBFF]/.test(whole.charAt(end - 1))) end += 1;
  const part = whole.slice(offset, end);
  return end < whole.length ? { part, next: end } : { part };
}
