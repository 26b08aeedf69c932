/**
 * Splices the engine's context into a compaction request that the harness's provider answers. The harness's own history may be far
 * longer than the model's window. The text that asks for the compaction stays as it is.
 */
import type { AgentMessage } from "@pagurus/contract/message";
import type { Dialect, WireRequest } from "../dialect/wire-dialect.ts";
import type { Governed } from "../governor/governor.ts";
import { atomsOf, callKey } from "../splice/atoms.ts";
import { asRequested, callsIn } from "../splice/call-ids.ts";
import { splice, type Spliced } from "../splice/splice-request.ts";

const LIST_END = Buffer.from("]");

/** The request without the compaction prompt, if it has one; all that is left is history. */
export function withoutAsking(read: WireRequest): WireRequest {
  const items = read.compaction?.isWhole === true ? read.items : read.items.slice(0, -1);
  return {
    ...read,
    items,
    prefixCount: Math.min(read.prefixCount, items.length),
    liveFrom: items.length,
  };
}

/** Undefined if the compaction prompt would not stay last, byte for byte. */
export function spliceCompaction(
  read: WireRequest,
  { context, isOriginal }: Governed,
  dialect: Pick<Dialect, "encode" | "rules">,
): Spliced | undefined {
  if (read.compaction?.isWhole === true) {
    const history = { ...context, historyCount: context.messages.length };
    return splice({ ...read, liveFrom: read.items.length }, { context: history, isOriginal }, dialect);
  }
  const last = read.items.length - 1;
  const asking = read.items[last];
  // A prompt without elements before it contains the conversation itself.
  if (!asking || last <= read.prefixCount) return undefined;
  const keys = keysFrom(read, read.prefixCount);
  const named = asRequested(context.messages, (id) => keys.has(callKey(id)));
  // Excludes the input of a turn that is about to begin, and what the harness keeps of the live turn.
  const live = named.slice(context.historyCount);
  const count = context.historyCount + live.findLastIndex((message) => isContained(message, keys)) + 1;
  if (count === 0) return undefined;
  // The last element may also contain results and text of the conversation.
  const asked = keysFrom(read, last);
  const historyCount = named.slice(0, count).findLastIndex((message) => !isContained(message, asked)) + 1;
  const before = named.slice(0, historyCount);
  if (before.some((message) => message.role === "toolResult" && isContained(message, asked)))
    return undefined;
  const messages = context.messages.slice(0, count);
  const governed = { context: { ...context, messages, historyCount }, isOriginal };
  const spliced = splice({ ...read, liveFrom: last }, governed, dialect);
  const end = Buffer.concat([read.body.subarray(asking.start, asking.end), LIST_END]);
  return !spliced.isReplaced || Buffer.concat(spliced.body).includes(end) ? spliced : undefined;
}

/** Whether elements with these keys contain a message; decided by its calls, since the same text may occur twice. */
function isContained(message: AgentMessage, keys: ReadonlySet<string>): boolean {
  const calls = callsIn(message);
  if (calls.length > 0) return calls.every((id) => keys.has(callKey(id)));
  return atomsOf(message).some(({ key }) => keys.has(key));
}

/** Keys of the content of all elements from one on. */
function keysFrom({ items }: WireRequest, from: number): ReadonlySet<string> {
  const all = items.slice(from).flatMap(({ messages }) => messages);
  return new Set(all.flatMap((message) => atomsOf(message)).map(({ key }) => key));
}
