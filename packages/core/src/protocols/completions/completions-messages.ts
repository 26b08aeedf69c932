/** Elements of `messages` in the Chat Completions API as our messages, and parts of ours as theirs. A new kind of part is added here. */
import type {
  AgentMessage,
  AssistantMessage,
  ImagePart,
  TextPart,
  ToolCallPart,
} from "@pagurus/contract/message";
import { type Fields, recordOf, recordsOf, stringOf } from "../../data/record-fields.ts";
import { argumentsOf, dataUrlImage, imageDataUrl } from "../protocol-parts.ts";

/** Content of a user or tool message. A type without a counterpart, such as audio, becomes a note. */
function partsOf(content: unknown): (TextPart | ImagePart)[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return recordsOf(content).map((part) => {
    if (typeof part["text"] === "string") return { type: "text", text: part["text"] };
    const image = part["image_url"];
    const url = stringOf(image) || stringOf(recordOf(image)["url"]);
    if (url === "") return { type: "text", text: `[${stringOf(part["type"]) || "part"} left out]` };
    return dataUrlImage(url) ?? { type: "text", text: `[image: ${url}]` };
  });
}

/** Text of an assistant's `content`: a string, or parts of text and of refusal. */
function wordsOf(content: unknown): string {
  if (typeof content === "string") return content;
  return recordsOf(content)
    .map((part) => stringOf(part["text"]) || stringOf(part["refusal"]))
    .join("");
}

function callOf(call: Fields): ToolCallPart {
  const { name, arguments: args } = recordOf(call["function"]);
  // A tool without a schema has its input text in `custom`.
  const custom = recordOf(call["custom"]);
  return {
    type: "toolCall",
    id: stringOf(call["id"]),
    name: stringOf(name) || stringOf(custom["name"]) || "unknown",
    arguments: argumentsOf(args ?? custom["input"]),
  };
}

/** Of an assistant's element, or of a piece of one. */
export function reasoningText(message: Fields): string {
  // The last one is of GitHub Copilot.
  const names = ["reasoning_content", "reasoning", "reasoning_text"];
  return names.map((name) => stringOf(message[name])).find((text) => text !== "") ?? "";
}

/** Converts an assistant's element, or the message of a whole answer. */
function assistantOf(message: Fields): AssistantMessage {
  const content: AssistantMessage["content"] = [];
  const thinking = reasoningText(message);
  if (thinking !== "") content.push({ type: "thinking", thinking });
  const words = wordsOf(message["content"]) || stringOf(message["refusal"]);
  if (words !== "") content.push({ type: "text", text: words });
  content.push(...recordsOf(message["tool_calls"]).map(callOf));
  return { role: "assistant", content };
}

/**
 * Empty for system and developer messages, for answers without content, and for unknown roles. `nameOf` returns the name of the tool
 * of a call.
 */
export function messagesOf(element: Fields, nameOf: (callId: string) => string | undefined): AgentMessage[] {
  const content = element["content"];
  switch (element["role"]) {
    case "user":
      return [{ role: "user", content: typeof content === "string" ? content : partsOf(content) }];
    case "assistant": {
      const message = assistantOf(element);
      return message.content.length > 0 ? [message] : [];
    }
    case "tool": {
      const toolCallId = stringOf(element["tool_call_id"]);
      const toolName = nameOf(toolCallId) ?? (stringOf(element["name"]) || "unknown");
      return [{ role: "toolResult", toolCallId, toolName, content: partsOf(content), isError: false }];
    }
    default:
      return [];
  }
}

export function imageFields(image: ImagePart): Record<string, unknown> {
  return { type: "image_url", image_url: { url: imageDataUrl(image) } };
}

export function callFields({ id, name, arguments: args }: ToolCallPart): Record<string, unknown> {
  return { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
}
