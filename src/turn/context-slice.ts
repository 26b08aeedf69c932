import type { ContextSlice } from "../contract/writer.ts";
import { messagesTokens } from "../tokens/messages.ts";

/** Bytes of transcript lines read at first, for each token of the window. */
const BYTES_A_TOKEN = 16;
/** Images make lines long and contexts short; beyond this the rest is left to a compaction. */
const MOST_BYTES = 1 << 30;

/** The end of the path that can fill a window: read on while what was read is mostly no text (images). */
export function readContext(
  source: { contextMessages(limit?: { maxBytes: number }): ContextSlice },
  window: number,
): ContextSlice {
  for (let maxBytes = window * BYTES_A_TOKEN; ; maxBytes *= 4) {
    const slice = source.contextMessages({ maxBytes });
    if (slice.complete || maxBytes >= MOST_BYTES || messagesTokens(slice.messages) >= window) return slice;
  }
}
