/** Digests of a conversation's prefixes: equal for the same words, whatever client or protocol they come from. */
import { createHash } from "node:crypto";
import type { AgentMessage } from "../contract/message.ts";
import { contentKey } from "../gateway/wrap/request-messages.ts";

/** Digest of the empty conversation. */
const START = "";

/** The digest of a prefix with one message more. Thinking and results' contents do not count: clients drop or shorten them. */
export function nextDigest(before: string, message: AgentMessage): string {
  return createHash("sha256")
    .update(before)
    .update(JSON.stringify(contentKey(message)))
    .digest("base64url");
}

/** Digest of each prefix of the messages, the shortest first; as many as there are messages. */
export function chainOf(messages: readonly AgentMessage[]): string[] {
  const chain: string[] = [];
  for (const message of messages) chain.push(nextDigest(chain.at(-1) ?? START, message));
  return chain;
}
