import type { ContextSlice, SessionWriter } from "@pagurus/contract/session/writer";
import { Pace } from "@pagurus/core/platform/pace";
import { messagesTokens, messageTokens } from "@pagurus/core/tokens/message-tokens";

/** Bytes of transcript lines in the first read, per token of the window. */
const BYTES_A_TOKEN = 16;
/** Each next read has this many times the bytes. */
const READ_GROWTH = 4;
/** Upper limit of a read: images make lines long and contexts short; the rest is left to a compaction. */
const MOST_BYTES = 1 << 30;

type Source = Pick<SessionWriter, "contextMessages" | "prepareContext">;

/** Times that the first read had to grow until it was enough, by writer: smaller reads would drop the lines that a larger one needs again. */
const growths = new WeakMap<object, number>();

/** Where a read begins: one step below the last one that was enough. */
function firstGrowth(source: object): number {
  return Math.max(0, (growths.get(source) ?? 0) - 1);
}

function bytesOf(window: number, growth: number): number {
  return window * BYTES_A_TOKEN * READ_GROWTH ** growth;
}

/**
 * Reads the end of the path that can fill a window; reads more while most of it is no text (images). The read is the smallest one that is
 * enough, whatever was read before.
 */
export function readContext(source: Pick<Source, "contextMessages">, window: number): ContextSlice {
  const read = (growth: number): ContextSlice =>
    source.contextMessages({ maxBytes: bytesOf(window, growth) });
  const begin = firstGrowth(source);
  let growth = begin;
  let slice = read(growth);
  for (; !isEnough(slice, bytesOf(window, growth), window); slice = read(growth)) growth += 1;
  for (; growth > 0 && growth <= begin; growth -= 1) {
    const smaller = read(growth - 1);
    if (!isEnough(smaller, bytesOf(window, growth - 1), window)) break;
    slice = smaller;
  }
  growths.set(source, growth);
  return slice;
}

/** Reads the lines of `readContext` in pieces between which others run; `readContext` then takes them from memory. */
export async function prepareContext(source: Source, window: number): Promise<void> {
  if (!source.prepareContext) return;
  for (let growth = firstGrowth(source); ; growth += 1) {
    const maxBytes = bytesOf(window, growth);
    await source.prepareContext({ maxBytes });
    const slice = source.contextMessages({ maxBytes });
    // Kept with each message, for the engine too.
    await new Pace().each(slice.messages, (message) => messageTokens(message));
    if (!isEnough(slice, maxBytes, window)) continue;
    growths.set(source, growth);
    return;
  }
}

function isEnough({ complete, messages }: ContextSlice, maxBytes: number, window: number): boolean {
  return complete || maxBytes >= MOST_BYTES || messagesTokens(messages) >= window;
}
