/** Converts the content of a request to messages of the transcript. */
import { createHash } from "node:crypto";
import type { AgentMessage, AssistantMessage, UserMessage } from "@pagurus/contract/message";
import { LONG_BYTES, Pace } from "@pagurus/core/platform/pace";
import type { WireItem, WireRequest } from "../dialect/wire-dialect.ts";

/** Messages of a range of elements, each answer as one message. */
function messagesBetween(items: readonly WireItem[], from: number, to: number): AgentMessage[] {
  const found: AgentMessage[] = [];
  for (const item of items.slice(from, to)) if (item.kind === "message") found.push(...item.messages);
  return merged(found);
}

/** Reads the messages of a long request in slices; each element keeps what was read of it. */
export async function readMessages({ body, items }: WireRequest): Promise<void> {
  if (body.length > LONG_BYTES) await new Pace().each(items, (item) => item.messages);
}

/** The messages of the live turn in the request. */
export function liveMessages({ items, liveFrom }: WireRequest): AgentMessage[] {
  return messagesBetween(items, liveFrom, items.length);
}

/** The messages before the live turn. */
export function historyMessages({ items, prefixCount, liveFrom }: WireRequest): AgentMessage[] {
  return messagesBetween(items, prefixCount, liveFrom);
}

export function hasMessagesBefore({ items, prefixCount, liveFrom }: WireRequest): boolean {
  for (let index = prefixCount; index < liveFrom; index++)
    if (items[index]?.kind === "message" && items[index]?.messages.length !== 0) return true;
  return false;
}

/** Merges the messages of an answer that several elements make up. */
function merged(messages: readonly AgentMessage[]): AgentMessage[] {
  const whole: AgentMessage[] = [];
  for (const message of messages) {
    const last = whole.at(-1);
    if (last?.role === "assistant" && message.role === "assistant")
      whole[whole.length - 1] = { ...last, content: [...last.content, ...message.content] };
    else whole.push(message);
  }
  return whole;
}

/** Text with normalized white space, which programs change: trimmed, and one space for each run. */
export function plain(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** Keys of long messages, which take a while. */
const longKeys = new WeakMap<UserMessage | AssistantMessage, string>();

function isLong({ content }: UserMessage | AssistantMessage): boolean {
  if (typeof content === "string") return content.length > LONG_BYTES;
  return content.some(
    (part) =>
      (part.type === "text" && part.text.length > LONG_BYTES) ||
      (part.type === "image" && part.data.length > LONG_BYTES),
  );
}

function keyOf(message: UserMessage | AssistantMessage, make: () => string): string {
  const known = longKeys.get(message);
  if (known !== undefined) return known;
  const key = make();
  if (isLong(message)) longKeys.set(message, key);
  return key;
}

/** Comparison key of a user message: text and images. */
export function userKey(message: UserMessage): string {
  const { content } = message;
  if (typeof content === "string") return keyOf(message, () => plain(content));
  return keyOf(message, () =>
    content.map((part) => (part.type === "text" ? plain(part.text) : digest(part.data))).join("\n"),
  );
}

/** What identifies a message's content wherever it is sent: without thinking and the text of results, which may be dropped later. */
export function contentKey(message: AgentMessage): string[] {
  if (message.role === "toolResult") return ["result", message.toolCallId];
  if (message.role === "user") return ["user", userKey(message)];
  return ["answer", assistantWords(message), ...callIdsOf(message)];
}

/** As an empty `userKey`, without the digest of an image. */
export function isEmptyUser(message: UserMessage): boolean {
  const { content } = message;
  if (typeof content !== "string" && content.some(({ type }) => type === "image")) return false;
  return userKey(message) === "";
}

export function assistantWords(message: AssistantMessage): string {
  return keyOf(message, () =>
    plain(message.content.map((part) => (part.type === "text" ? part.text : "")).join("\n")),
  );
}

export function callIdsOf({ content }: AssistantMessage): string[] {
  return content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []));
}

export function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
