/** Digests of a conversation's prefixes: equal for the same words, whatever client or protocol they come from. */
import { createHash } from "node:crypto";
import type { AgentMessage } from "@pagurus/contract/message";
import { parseRecord } from "@pagurus/core/data/record-fields";
import type { WireRequest } from "@pagurus/gateway/dialect/wire-dialect";
import { Pace } from "@pagurus/core/platform/pace";
import {
  contentKey,
  historyMessages,
  liveMessages,
  readMessages,
} from "@pagurus/gateway/wrap/request-messages";

/** Digest of the empty conversation. */
const CHAIN_START = "";

/** The digest of a prefix with one message more. Thinking and results' contents do not count: clients drop or shorten them. */
export function nextDigest(before: string, message: AgentMessage): string {
  return createHash("sha256")
    .update(before)
    .update(JSON.stringify(contentKey(message).map(sameJson)))
    .digest("base64url");
}

/** Some libraries send a JSON answer back in another spelling of the same value. */
function sameJson(text: string): string {
  const record = text.startsWith("{") ? parseRecord(text) : undefined;
  return record ? JSON.stringify(record) : text;
}

/** Digest of each prefix of the messages, the shortest first; as many as there are messages. `start`: of what precedes them. */
async function chainOf(messages: readonly AgentMessage[], start: string = CHAIN_START): Promise<string[]> {
  const chain: string[] = [];
  await new Pace().each(messages, (message) => chain.push(nextDigest(chain.at(-1) ?? start, message)));
  return chain;
}

/** A request's conversation as digests. */
export interface RequestChain {
  chain: string[];
  /** Number of digests before the live turn. */
  before: number;
}

/**
 * The digests of a request's messages. What a compaction of ours left names the prefix that it replaced: then the chain begins with
 * that, and continues as if the client had sent everything.
 */
export async function requestChain(request: WireRequest): Promise<RequestChain> {
  await readMessages(request);
  const at = request.items.findLastIndex(({ compactedFrom }) => compactedFrom !== undefined);
  const start = request.items[at]?.compactedFrom;
  const prefixCount = Math.max(at + 1, request.prefixCount);
  const rest = { ...request, prefixCount, liveFrom: Math.max(prefixCount, request.liveFrom) };
  const history = historyMessages(rest);
  const messages = [...history, ...liveMessages(rest)];
  if (start === undefined) return { chain: await chainOf(messages), before: history.length };
  return { chain: [start, ...(await chainOf(messages, start))], before: 1 + history.length };
}
