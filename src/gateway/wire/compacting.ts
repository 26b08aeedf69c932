/**
 * A compaction that the harness's provider is to make: it is shown the engine's context in the place of the harness's own history,
 * which may be far longer than the model's window. The words that ask for it stay as they are.
 */
import type { AgentMessage } from "../../contract/message.ts";
import type { Dialect, WireRequest } from "./dialect/dialect.ts";
import type { Governed } from "./governor.ts";
import { atomsOf, callKey } from "./splice/atoms.ts";
import { asRequested, callsIn } from "./splice/call-ids.ts";
import { splice, type Spliced } from "./splice/splice.ts";

const LIST_END = Buffer.from("]");

/** The request without what asks for the compaction, all of it history. */
export function withoutAsking(read: WireRequest): WireRequest {
  const items = read.items.slice(0, -1);
  return {
    ...read,
    items,
    prefixCount: Math.min(read.prefixCount, items.length),
    liveFrom: items.length,
  };
}

/** Undefined where what asks for the compaction would not stay last, byte for byte. */
export function spliceCompaction(
  read: WireRequest,
  { context, isOriginal }: Governed,
  dialect: Pick<Dialect, "encode" | "rules">,
): Spliced | undefined {
  const last = read.items.length - 1;
  const asking = read.items[last];
  if (!asking || last < read.prefixCount) return undefined;
  const keys = keysFrom(read, read.prefixCount);
  const named = asRequested(context.messages, (id) => keys.has(callKey(id)));
  // Not the input of a turn that is about to begin, nor what stays with the harness of the live turn.
  const live = named.slice(context.historyCount);
  const count = context.historyCount + live.findLastIndex((message) => isTold(message, keys)) + 1;
  if (count === 0) return undefined;
  // The last element may hold results and words of the conversation, too.
  const asked = keysFrom(read, last);
  const historyCount = named.slice(0, count).findLastIndex((message) => !isTold(message, asked)) + 1;
  const before = named.slice(0, historyCount);
  if (before.some((message) => message.role === "toolResult" && isTold(message, asked))) return undefined;
  const messages = context.messages.slice(0, count);
  const governed = { context: { ...context, messages, historyCount }, isOriginal };
  const spliced = splice({ ...read, liveFrom: last }, governed, dialect);
  const end = Buffer.concat([read.body.subarray(asking.start, asking.end), LIST_END]);
  return !spliced.isReplaced || Buffer.concat(spliced.body).includes(end) ? spliced : undefined;
}

/** Whether elements with these pieces tell of a message: by its calls, since words are said again. */
function isTold(message: AgentMessage, keys: ReadonlySet<string>): boolean {
  const calls = callsIn(message);
  if (calls.length > 0) return calls.every((id) => keys.has(callKey(id)));
  return atomsOf(message).some(({ key }) => keys.has(key));
}

/** Of all that elements from one on say. */
function keysFrom({ items }: WireRequest, from: number): ReadonlySet<string> {
  const said = items.slice(from).flatMap(({ messages }) => messages);
  return new Set(said.flatMap((message) => atomsOf(message)).map(({ key }) => key));
}
