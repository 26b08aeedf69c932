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
