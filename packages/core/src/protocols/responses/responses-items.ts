/**
 * Items of OpenAI's Responses API as our messages, and back: those of requests and answers, of a running Codex, and of a rollout. Every
 * field is validated. A new kind of item or part is added here.
 */
import type { AssistantMessage, ImagePart, TextPart, ToolCallPart } from "@pagurus/contract/message";
import { isRecord, stringOf } from "../../data/record-fields.ts";
import { argumentsOf, dataUrlImage, imageDataUrl, toolName } from "../protocol-parts.ts";

/** An item, or a part of one. */
export type ItemFields = Readonly<Record<string, unknown>>;

/** The parts of an item's `content`, `summary` or `output`; empty when it is no list. */
export function itemParts(value: unknown): readonly ItemFields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Names of tools whose calls have no name field. */
const NAMELESS: Readonly<Record<string, string>> = {
  local_shell_call: "local_shell",
  tool_search_call: "tool_search",
};
const CALL_TYPES = new Set(["function_call", "custom_tool_call", ...Object.keys(NAMELESS)]);

/** The tool call in an item; undefined for any other item. Its id may be empty. */
export function itemCall(item: ItemFields): ToolCallPart | undefined {
  const type = stringOf(item["type"]);
  if (!CALL_TYPES.has(type)) return undefined;
  const name = stringOf(item["name"]) || (NAMELESS[type] ?? "unknown");
  const space = stringOf(item["namespace"]);
  return {
    type: "toolCall",
    id: stringOf(item["call_id"]) || stringOf(item["id"]),
    name: toolName(space === "" ? name : `${space}__${name}`),
    arguments: argumentsOf(item["arguments"] ?? item["input"] ?? item["action"]),
  };
}

/** The readable text of a reasoning item: its content, else its summary. */
export function itemReasoning(item: ItemFields): string {
  const texts = (value: unknown): string[] =>
    itemParts(value)
      .map((part) => stringOf(part["text"]))
      .filter(Boolean);
  const content = texts(item["content"]);
  return (content.length > 0 ? content : texts(item["summary"])).join("\n\n");
}

/**
 * The content of a message, or the output of a call: a text, or parts of text and images. `noteOf` describes a part without a
 * counterpart.
 */
export function itemContent(
  content: unknown,
  noteOf: (part: ItemFields) => TextPart = () => ({ type: "text", text: "" }),
): (TextPart | ImagePart)[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return itemParts(content).map((part) => {
    const image = dataUrlImage(stringOf(part["image_url"]));
    if (image) return image;
    const text = part["text"] ?? part["refusal"];
    return typeof text === "string" ? { type: "text", text } : noteOf(part);
  });
}

/** The text of an answer's message. */
export function itemText({ content }: ItemFields): string {
  return itemContent(content)
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("");
}

export type ContentItem =
  | { type: "input_text" | "output_text"; text: string }
  | { type: "input_image"; image_url: string };

// An interface would be no JSON value for the compiler.
export type MessageItem = {
  type: "message";
  role: "user" | "assistant" | "developer";
  content: ContentItem[];
};

/** An element that we write into `input`. */
export type InputItem =
  | MessageItem
  | { type: "function_call"; name: string; namespace?: string; arguments: string; call_id: string }
  | { type: "custom_tool_call"; name: string; namespace?: string; input: string; call_id: string }
  | {
      type: "function_call_output" | "custom_tool_call_output";
      call_id: string;
      output: string | ContentItem[];
    };

export function messageItem(
  role: MessageItem["role"],
  content: string | readonly (TextPart | ImagePart)[],
): MessageItem {
  const type = role === "assistant" ? "output_text" : "input_text";
  return { type: "message", role, content: contentItems(content, type) };
}

export function contentItems(
  content: string | readonly (TextPart | ImagePart)[],
  type: "input_text" | "output_text" = "input_text",
): ContentItem[] {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return parts.map((part) =>
    part.type === "text" ? { type, text: part.text } : { type: "input_image", image_url: imageDataUrl(part) },
  );
}

/** Omits thinking, which only its own provider can read, and empty texts. */
export function answerItems<Call>(
  { content }: AssistantMessage,
  callItem: (call: ToolCallPart) => Call,
): (MessageItem | Call)[] {
  return content.flatMap((part): (MessageItem | Call)[] => {
    if (part.type === "toolCall") return [callItem(part)];
    return part.type === "text" && part.text !== "" ? [messageItem("assistant", part.text)] : [];
  });
}
