/** Elements of `messages` as messages of ours. */
import type {
  AgentMessage,
  AssistantMessage,
  ImagePart,
  TextPart,
  ToolCallPart,
} from "../../../../contract/message.ts";
import { argumentsOf, dataUrlImage } from "../../../../responses/items.ts";
import { fieldsOf, listOf, textOf, type Fields } from "../../json/fields.ts";

/** What a user or a tool says. Of what our messages have no part for, such as sound, a note stands in its place. */
function partsOf(content: unknown): (TextPart | ImagePart)[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return listOf(content).map((part) => {
    if (typeof part["text"] === "string") return { type: "text", text: part["text"] };
    const image = part["image_url"];
    const url = textOf(image) || textOf(fieldsOf(image)["url"]);
    if (url === "") return { type: "text", text: `[${textOf(part["type"]) || "part"} left out]` };
    return dataUrlImage(url) ?? { type: "text", text: `[image: ${url}]` };
  });
}

/** The words of an assistant's `content`: a text, or parts of text and of refusal. */
function wordsOf(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => textOf(part["text"]) || textOf(part["refusal"]))
    .join("");
}

function callOf(call: Fields): ToolCallPart {
  const { name, arguments: given } = fieldsOf(call["function"]);
  // A tool without a schema has its text in `custom`.
  const custom = fieldsOf(call["custom"]);
  return {
    type: "toolCall",
    id: textOf(call["id"]),
    name: textOf(name) || textOf(custom["name"]) || "unknown",
    arguments: argumentsOf(given ?? custom["input"]),
  };
}

/** An assistant's element, or the message of a whole answer. */
export function assistantOf(message: Fields): AssistantMessage {
  const content: AssistantMessage["content"] = [];
  const thinking = textOf(message["reasoning_content"]) || textOf(message["reasoning"]);
  if (thinking !== "") content.push({ type: "thinking", thinking });
  const words = wordsOf(message["content"]) || textOf(message["refusal"]);
  if (words !== "") content.push({ type: "text", text: words });
  content.push(...listOf(message["tool_calls"]).map(callOf));
  return { role: "assistant", content };
}

/**
 * Empty for system and developer messages, for answers without words, and for roles that are not known. `nameOf` tells the
 * name of the tool that a call asked for.
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
      const toolCallId = textOf(element["tool_call_id"]);
      const toolName = nameOf(toolCallId) ?? (textOf(element["name"]) || "unknown");
      return [{ role: "toolResult", toolCallId, toolName, content: partsOf(content), isError: false }];
    }
    default:
      return [];
  }
}
