/** Content blocks of Anthropic's Messages API as parts of our messages, and back. A new kind of block is added here. */
import type {
  AssistantMessage,
  ImagePart,
  TextPart,
  ThinkingPart,
  ToolResultMessage,
} from "@pagurus/contract/message";
import { type Fields, recordOf, recordsOf, stringOf } from "../../data/record-fields.ts";
import { argumentsOf } from "../protocol-parts.ts";

/** A block that we write. */
export type Block = Record<string, unknown> & { readonly type: string };

/** Content as blocks; a text is one block. */
export function blocksOf(content: unknown): readonly Fields[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : recordsOf(content);
}

/** True for the result of a call. */
export function isResult({ type }: Fields): boolean {
  return type === "tool_result";
}

/** A block of a user message or of a result; undefined for a type without a counterpart, such as a document. */
export function contentPart(block: Fields): TextPart | ImagePart | undefined {
  if (block["type"] === "text") return { type: "text", text: stringOf(block["text"]) };
  const source = recordOf(block["source"]);
  if (block["type"] !== "image" || source["type"] !== "base64") return undefined;
  return { type: "image", data: stringOf(source["data"]), mimeType: stringOf(source["media_type"]) };
}

/** A block of an answer; undefined for a type without a counterpart, such as a search that the provider ran itself. */
export function answerPart(block: Fields): AssistantMessage["content"][number] | undefined {
  const { id, name, input } = block;
  const signature = stringOf(block["signature"]);
  switch (block["type"]) {
    case "text":
      return { type: "text", text: stringOf(block["text"]) };
    case "thinking":
      return {
        type: "thinking",
        thinking: stringOf(block["thinking"]),
        ...(signature === "" ? {} : { signature }),
      };
    case "redacted_thinking":
      return { type: "thinking", thinking: "", signature: stringOf(block["data"]), redacted: true };
    case "tool_use":
      return {
        type: "toolCall",
        id: stringOf(id),
        name: stringOf(name) || "unknown",
        arguments: argumentsOf(input),
      };
    default:
      return undefined;
  }
}

/** The message of a result block. `nameOf` returns the name of the tool of a call. */
export function resultMessage(
  block: Fields,
  content: ToolResultMessage["content"],
  nameOf: (callId: string) => string | undefined,
): ToolResultMessage {
  const toolCallId = stringOf(block["tool_use_id"]);
  const toolName = nameOf(toolCallId) ?? "unknown";
  return { role: "toolResult", toolCallId, toolName, content, isError: block["is_error"] === true };
}

export function contentBlocks(content: string | readonly (TextPart | ImagePart)[]): Block[] {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return parts.flatMap((part): Block[] => {
    if (part.type === "image")
      return [{ type: "image", source: { type: "base64", media_type: part.mimeType, data: part.data } }];
    // The API rejects an empty text.
    return part.text.trim() === "" ? [] : [{ type: "text", text: part.text }];
  });
}

export function callBlock(id: string, name: string, input: object): Block {
  return { type: "tool_use", id, name, input };
}

/** `id`: the id of the call in this request. */
export function resultBlock({ content, isError }: ToolResultMessage, id: string): Block {
  const blocks = contentBlocks(content);
  return {
    type: "tool_result",
    tool_use_id: id,
    ...(blocks.length > 0 ? { content: blocks } : {}),
    ...(isError ? { is_error: true } : {}),
  };
}

/** Only the model that signed a thinking accepts it. */
export function thinkingBlock({ thinking, signature, redacted }: ThinkingPart): Block {
  return redacted === true
    ? { type: "redacted_thinking", data: signature }
    : { type: "thinking", thinking, signature };
}
