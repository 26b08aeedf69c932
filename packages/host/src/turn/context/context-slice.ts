import type { ContextSlice, SessionWriter } from "@pagurus/contract/session/writer";
import { Pace } from "@pagurus/core/platform/pace";
import { messagesTokens, messageTokens } from "@pagurus/core/tokens/message-tokens";

/** Bytes of transcript lines in the first read, per token of the window. */
const BYTES_A_TOKEN = 16;
/** Upper limit of a read: images make lines long and contexts short; the rest is left to a compaction. */
const MOST_BYTES = 1 << 30;

type Source = Pick<SessionWriter, "contextMessages" | "prepareContext">;

/** Reads the end of the path that can fill a window; reads more while most of it is no text (images). */
export function readContext(source: Pick<Source, "contextMessages">, window: number): ContextSlice {
  for (let maxBytes = window * BYTES_A_TOKEN; ; maxBytes *= 4) {
    const slice = source.contextMessages({ maxBytes });
    if (isEnough(slice, maxBytes, window)) return slice;
  }
}

/** Reads the lines of `readContext` in pieces between which others run; `readContext` then takes them from memory. */
export async function prepareContext(source: Source, window: number): Promise<void> {
  if (!source.prepareContext) return;
  for (let maxBytes = window * BYTES_A_TOKEN; ; maxBytes *= 4) {
    await source.prepareContext({ maxBytes });
    const slice = source.contextMessages({ maxBytes });
    // Kept with each message, for the engine too.
    await new Pace().each(slice.messages, (message) => messageTokens(message));
    if (isEnough(slice, maxBytes, window)) return;
  }
}

function isEnough({ complete, messages }: ContextSlice, maxBytes: number, window: number): boolean {
  return complete || maxBytes >= MOST_BYTES || messagesTokens(messages) >= window;
}
