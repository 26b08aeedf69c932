import type { ContextSlice } from "../../contract/session/writer.ts";
import { messagesTokens } from "../../tokens/message-tokens.ts";

/** Bytes of transcript lines in the first read, per token of the window. */
const BYTES_A_TOKEN = 16;
/** Upper limit of a read: images make lines long and contexts short; the rest is left to a compaction. */
const MOST_BYTES = 1 << 30;

/** Reads the end of the path that can fill a window; reads more while most of it is no text (images). */
export function readContext(
  source: { contextMessages(limit?: { maxBytes: number }): ContextSlice },
  window: number,
): ContextSlice {
  for (let maxBytes = window * BYTES_A_TOKEN; ; maxBytes *= 4) {
    const slice = source.contextMessages({ maxBytes });
    if (slice.complete || maxBytes >= MOST_BYTES || messagesTokens(slice.messages) >= window) return slice;
  }
}
