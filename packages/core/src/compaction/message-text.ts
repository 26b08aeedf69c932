/** Text and tool calls of a message. */
import type { AgentMessage, AssistantMessage, ToolCallPart } from "@pagurus/contract/message";
import { isObjectOrList } from "../data/record-fields.ts";

/** Text parts of a message, joined by newlines; without images, reasoning and tool calls. */
export function textOf(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  let text = "";
  for (const part of message.content) {
    if (part.type !== "text" || part.text === "") continue;
    text += text === "" ? part.text : `\n${part.text}`;
  }
  return text;
}

export function callsOf(message: AssistantMessage): ToolCallPart[] {
  return message.content
    .filter((part) => part.type === "toolCall")
    .map((call) => (isObjectOrList(call.arguments) ? call : { ...call, arguments: {} }));
}

/** Ids of the tool calls of an answer, or of the call that a result belongs to. */
export function callIds(message: AgentMessage): string[] {
  if (message.role === "toolResult") return [message.toolCallId];
  if (message.role === "user") return [];
  return message.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []));
}
