/** The words of a message, without images, reasoning and tool calls. */
import type { AgentMessage, AssistantMessage, ToolCallPart } from "../contract/message.ts";

/** Text parts of a message, joined by newlines. */
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
    .map((call) => (isObject(call.arguments) ? call : { ...call, arguments: {} }));
}

/** A transcript of another program may have a call without arguments. */
function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
