/** Digests of a conversation's prefixes: equal for the same words, whatever client or protocol they come from. */
import { createHash } from "node:crypto";
import type { AgentMessage } from "../contract/message.ts";
import { assistantWords, callIds, userKey } from "../gateway/wrap/request-messages.ts";

/** Digest of the empty conversation. */
const START = "";

function contentOf(message: AgentMessage): unknown[] {
  if (message.role === "toolResult") return ["result", message.toolCallId];
  if (message.role === "user") return ["user", userKey(message)];
  return ["answer", assistantWords(message), ...callIds(message)];
}

/** The digest of a prefix with one message more. Thinking and results' contents do not count: clients drop or shorten them. */
export function nextDigest(before: string, message: AgentMessage): string {
  return createHash("sha256")
    .update(before)
    .update(JSON.stringify(contentOf(message)))
    .digest("base64url");
}

/** Digest of each prefix of the messages, the shortest first; as many as there are messages. */
export function chainOf(messages: readonly AgentMessage[]): string[] {
  const chain: string[] = [];
  for (const message of messages) chain.push(nextDigest(chain.at(-1) ?? START, message));
  return chain;
}
