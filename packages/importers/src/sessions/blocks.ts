/** Content parts of other programs as ours: one reader for the formats of Anthropic, OpenAI, pi and OpenClaw. */
import type { ImagePart, TextPart, ThinkingPart, ToolCallPart } from "@pagurus/contract/message";
import { asRecord, type Fields, filledString } from "@pagurus/core/data/record-fields";
import { argumentsOf, dataUrlImage, toolName } from "@pagurus/core/protocols/protocol-parts";
import { itemCall, itemReasoning } from "@pagurus/core/protocols/responses/responses-items";
import { parseFields } from "./foreign-fields.ts";
import { defined } from "@pagurus/core/data/defined";

/** A tool result inside a message's content. */
export interface ResultBlock {
  type: "result";
  callId: string;
  name: string;
  content: (TextPart | ImagePart)[];
  isError: boolean;
}

/** A part without an equivalent in ours; kept as data, with `text` in its place. */
export interface OtherBlock {
  type: "other";
  kind: string;
  raw: unknown;
}

export type Block = TextPart | ImagePart | ThinkingPart | ToolCallPart | ResultBlock | OtherBlock;

type Reader = (block: Fields) => Block | undefined;

const text: Reader = (block) => {
  const value = block["text"] ?? block["input_text"] ?? block["refusal"];
  return typeof value === "string" ? { type: "text", text: value } : undefined;
};

const imageReader: Reader = (block) => {
  const source = asRecord(block["source"]) ?? block;
  const data = filledString(source["data"]);
  const mimeType =
    filledString(source["media_type"]) ??
    filledString(source["mimeType"]) ??
    filledString(source["mime_type"]);
  if (data !== undefined)
    return dataUrlImage(data) ?? { type: "image", data, mimeType: mimeType ?? "image/png" };
  const nested = asRecord(block["image_url"]);
  const url =
    filledString(block["image_url"]) ?? filledString(nested?.["url"]) ?? filledString(source["url"]);
  if (url === undefined) return undefined;
  return dataUrlImage(url) ?? { type: "text", text: `[image ${url}]` };
};

const thinking: Reader = (block) => {
  const redacted = block["type"] === "redacted_thinking" || block["redacted"] === true;
  const thinking = filledString(block["thinking"]) ?? filledString(block["text"]) ?? itemReasoning(block);
  const signature =
    filledString(block["signature"]) ??
    filledString(block["thinkingSignature"]) ??
    filledString(block["data"]);
  const sealed = openaiSignature(parseFields(signature) ?? block) ?? signature;
  return {
    type: "thinking",
    thinking: thinking ?? "",
    ...defined({ signature: sealed }),
    ...(redacted && sealed !== undefined ? { redacted: true } : {}),
  };
};

/** The encrypted reasoning of OpenAI as a signature, in the form of `packages/core/src/model`: `{id, encrypted}`. */
function openaiSignature(item: Fields): string | undefined {
  const encrypted = filledString(item["encrypted_content"]);
  const id = filledString(item["id"]);
  return encrypted === undefined || id === undefined ? undefined : JSON.stringify({ id, encrypted });
}

const readCall: Reader = (block) => {
  const item = itemCall(block);
  // Others use the names of these items with fields of their own.
  if (item && item.id !== "" && item.name !== "unknown") return item;
  const signature = filledString(block["thoughtSignature"]);
  return {
    type: "toolCall",
    id:
      filledString(block["call_id"]) ?? filledString(block["id"]) ?? filledString(block["toolCallId"]) ?? "",
    name: toolName(filledString(block["name"]) ?? filledString(block["toolName"]) ?? "unknown"),
    arguments: argumentsOf(block["arguments"] ?? block["input"] ?? block["action"]),
    ...defined({ signature }),
  };
};

const result: Reader = (block) => {
  const success = asRecord(block["output"])?.["success"] ?? block["success"];
  return {
    type: "result",
    callId:
      filledString(block["tool_use_id"]) ??
      filledString(block["call_id"]) ??
      filledString(block["toolCallId"]) ??
      filledString(block["tool_call_id"]) ??
      "",
    name: toolName(filledString(block["toolName"]) ?? filledString(block["name"]) ?? ""),
    content: resultContent(block["content"] ?? block["output"] ?? block["result"]),
    isError: block["is_error"] === true || block["isError"] === true || success === false,
  };
};

/** The content of a tool result; what is neither text nor image becomes text, as JSON. */
export function resultContent(value: unknown): (TextPart | ImagePart)[] {
  if (value === undefined || value === null) return [];
  if (typeof value === "string") return value === "" ? [] : [{ type: "text", text: value }];
  const nested = asRecord(value);
  if (nested && (Array.isArray(nested["content"]) || typeof nested["content"] === "string"))
    return resultContent(nested["content"]);
  if (!Array.isArray(value)) return [{ type: "text", text: JSON.stringify(value) }];
  return value.map((item: unknown) => {
    const block = readBlock(item);
    return block.type === "text" || block.type === "image"
      ? block
      : { type: "text", text: typeof item === "string" ? item : JSON.stringify(item) };
  });
}

const READERS = new Map<string, Reader>();
function reads(reader: Reader, ...types: string[]): void {
  for (const type of types) READERS.set(type, reader);
}
reads(text, "text", "input_text", "output_text", "refusal");
reads(imageReader, "image", "input_image", "image_url");
reads(thinking, "thinking", "redacted_thinking", "reasoning");
reads(readCall, "tool_use", "toolUse", "tool-use", "toolCall", "tool_call", "functionCall", "function_call");
reads(readCall, "custom_tool_call", "local_shell_call", "tool_search_call");
reads(result, "tool_result", "toolResult", "tool_use_result", "function_call_output");
reads(result, "custom_tool_call_output", "local_shell_call_output");

/** Never throws: an unknown part is `other`. */
export function readBlock(value: unknown): Block {
  if (typeof value === "string") return { type: "text", text: value };
  const block = asRecord(value);
  const kind = filledString(block?.["type"]) ?? "part without a type";
  const known = block && READERS.get(kind)?.(block);
  return known ?? { type: "other", kind, raw: value };
}
