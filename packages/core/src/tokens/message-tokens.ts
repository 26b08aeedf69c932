import type {
  AgentMessage,
  ImagePart,
  TextPart,
  ThinkingPart,
  ToolCallPart,
} from "@pagurus/contract/message";
import { estimateTokens } from "./estimate.ts";

/** Tokens of a message's fixed overhead: role, separators, ids of tool calls. */
const MESSAGE_OVERHEAD = 4;

/**
 * Tokens of an image. Providers count pixels after scaling (85 to about 1,600 tokens), which are unknown without
 * decoding the image; this is a mean of full-size screenshots.
 */
const IMAGE_TOKENS = 1_200;

type Part = TextPart | ImagePart | ThinkingPart | ToolCallPart;

const countedMessages = new WeakMap<AgentMessage, number>();

function jsonTokens(value: unknown): number {
  try {
    return estimateTokens(JSON.stringify(value) ?? "");
  } catch {
    // A foreign engine's arguments that are not JSON (a cycle, a BigInt) cannot be sent, so they cost nothing.
    return 0;
  }
}

function partTokens(part: Part): number {
  switch (part.type) {
    case "text":
      return estimateTokens(part.text);
    case "thinking":
      // Encrypted reasoning has no text; its opaque data is sent.
      return estimateTokens(part.redacted ? (part.signature ?? "") : part.thinking);
    case "toolCall":
      return estimateTokens(part.name) + jsonTokens(part.arguments);
    case "image":
      return IMAGE_TOKENS;
    default:
      return jsonTokens(part);
  }
}

function countMessage(message: AgentMessage): number {
  const content: unknown = message.content;
  if (typeof content === "string") return MESSAGE_OVERHEAD + estimateTokens(content);
  let total = MESSAGE_OVERHEAD;
  // Foreign engines omit the content of an empty message.
  if (!Array.isArray(content)) return total;
  for (const part of content as readonly Part[]) total += partTokens(part);
  return total;
}

/**
 * Estimated tokens of a message as a model would receive it: text, thinking, tool calls with their arguments, tool
 * results, images. Ids, times and usage are not sent and not counted. Cached by object: messages are immutable.
 */
export function messageTokens(message: AgentMessage): number {
  let tokens = countedMessages.get(message);
  if (tokens === undefined) {
    tokens = countMessage(message);
    countedMessages.set(message, tokens);
  }
  return tokens;
}

/** Estimated tokens of several messages. */
export function messagesTokens(messages: readonly AgentMessage[]): number {
  let total = 0;
  for (const message of messages) total += messageTokens(message);
  return total;
}

/** Estimated tokens of a text, a message or several messages. */
export function countTokens(value: string | AgentMessage | readonly AgentMessage[]): number {
  if (typeof value === "string") return estimateTokens(value);
  return Array.isArray(value)
    ? messagesTokens(value as readonly AgentMessage[])
    : messageTokens(value as AgentMessage);
}
