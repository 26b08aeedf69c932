/** What a request says, as messages of the transcript. */
import { createHash } from "node:crypto";
import type { AgentMessage, AssistantMessage, UserMessage } from "../../../contract/message.ts";
import type { WireItem, WireRequest } from "../dialect/dialect.ts";

/** Messages of a span of elements, each answer as one. */
function saidBetween(items: readonly WireItem[], from: number, to: number): AgentMessage[] {
  const said: AgentMessage[] = [];
  for (const item of items.slice(from, to)) if (item.kind === "said") said.push(...item.messages);
  return merged(said);
}

/** The live turn, as far as the request has it. */
export function liveSaid({ items, liveFrom }: WireRequest): AgentMessage[] {
  return saidBetween(items, liveFrom, items.length);
}

/** What was said before the live turn. */
export function historySaid({ items, prefixCount, liveFrom }: WireRequest): AgentMessage[] {
  return saidBetween(items, prefixCount, liveFrom);
}

export function saysSomethingBefore({ items, prefixCount, liveFrom }: WireRequest): boolean {
  for (let index = prefixCount; index < liveFrom; index++)
    if (items[index]?.kind === "said" && items[index]?.messages.length !== 0) return true;
  return false;
}

/** Of an answer that several elements make up each has its share. */
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

/** Words without what programs add to them or take from them on the way: white space at the ends, and its kind. */
export function plain(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** What a user said, words and images, as a key. */
export function userKey({ content }: UserMessage): string {
  if (typeof content === "string") return plain(content);
  return content.map((part) => (part.type === "text" ? plain(part.text) : digest(part.data))).join("\n");
}

export function isEmptyUser(message: UserMessage): boolean {
  return userKey(message) === "";
}

export function assistantWords({ content }: AssistantMessage): string {
  return plain(content.map((part) => (part.type === "text" ? part.text : "")).join("\n"));
}

export function callIds({ content }: AssistantMessage): string[] {
  return content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []));
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
