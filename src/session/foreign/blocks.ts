/** Content parts of other programs as ours: one reader for the spellings of Anthropic, OpenAI, pi and OpenClaw. */
import type { ImagePart, TextPart, ThinkingPart, ToolCallPart } from "../../contract/message.ts";
import { argumentsOf, dataUrlImage, itemCall, itemReasoning, toolName } from "../../responses/items.ts";
import { fieldsOf, parseFields, textOf, type Fields } from "./fields.ts";

/** A tool's answer that stands as a part of a message. */
export interface ResultBlock {
  type: "result";
  callId: string;
  name: string;
  content: (TextPart | ImagePart)[];
  isError: boolean;
}

/** A part that ours have no form for; it is kept as data, `text` stands in its place. */
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

const image: Reader = (block) => {
  const source = fieldsOf(block["source"]) ?? block;
  const data = textOf(source["data"]);
  const mimeType = textOf(source["media_type"]) ?? textOf(source["mimeType"]) ?? textOf(source["mime_type"]);
  if (data !== undefined)
    return dataUrlImage(data) ?? { type: "image", data, mimeType: mimeType ?? "image/png" };
  const nested = fieldsOf(block["image_url"]);
  const url = textOf(block["image_url"]) ?? textOf(nested?.["url"]) ?? textOf(source["url"]);
  if (url === undefined) return undefined;
  return dataUrlImage(url) ?? { type: "text", text: `[image ${url}]` };
};

const thinking: Reader = (block) => {
  const redacted = block["type"] === "redacted_thinking" || block["redacted"] === true;
  const said = textOf(block["thinking"]) ?? textOf(block["text"]) ?? itemReasoning(block);
  const signature = textOf(block["signature"]) ?? textOf(block["thinkingSignature"]) ?? textOf(block["data"]);
  const sealed = openaiSignature(parseFields(signature) ?? block) ?? signature;
  return {
    type: "thinking",
    thinking: said ?? "",
    ...(sealed === undefined ? {} : { signature: sealed }),
    ...(redacted && sealed !== undefined ? { redacted: true } : {}),
  };
};

/** The encrypted reasoning of OpenAI, as the model room signs it: `{id, encrypted}`. */
function openaiSignature(item: Fields): string | undefined {
  const encrypted = textOf(item["encrypted_content"]);
  const id = textOf(item["id"]);
  return encrypted === undefined || id === undefined ? undefined : JSON.stringify({ id, encrypted });
}

const call: Reader = (block) => {
  const item = itemCall(block);
  // Others use the names of these items with fields of their own.
  if (item && item.id !== "" && item.name !== "unknown") return item;
  const signature = textOf(block["thoughtSignature"]);
  return {
    type: "toolCall",
    id: textOf(block["call_id"]) ?? textOf(block["id"]) ?? textOf(block["toolCallId"]) ?? "",
    name: toolName(textOf(block["name"]) ?? textOf(block["toolName"]) ?? "unknown"),
    arguments: argumentsOf(block["arguments"] ?? block["input"] ?? block["action"]),
    ...(signature === undefined ? {} : { signature }),
  };
};

const result: Reader = (block) => {
  const success = fieldsOf(block["output"])?.["success"] ?? block["success"];
  return {
    type: "result",
    callId:
      textOf(block["tool_use_id"]) ??
      textOf(block["call_id"]) ??
      textOf(block["toolCallId"]) ??
      textOf(block["tool_call_id"]) ??
      "",
    name: toolName(textOf(block["toolName"]) ?? textOf(block["name"]) ?? ""),
    content: resultContent(block["content"] ?? block["output"] ?? block["result"]),
    isError: block["is_error"] === true || block["isError"] === true || success === false,
  };
};

/** The answer of a tool; what is neither text nor image becomes text, as JSON. */
export function resultContent(value: unknown): (TextPart | ImagePart)[] {
  if (value === undefined || value === null) return [];
  if (typeof value === "string") return value === "" ? [] : [{ type: "text", text: value }];
  const nested = fieldsOf(value);
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
reads(image, "image", "input_image", "image_url");
reads(thinking, "thinking", "redacted_thinking", "reasoning");
reads(call, "tool_use", "toolUse", "tool-use", "toolCall", "tool_call", "functionCall", "function_call");
reads(call, "custom_tool_call", "local_shell_call", "tool_search_call");
reads(result, "tool_result", "toolResult", "tool_use_result", "function_call_output");
reads(result, "custom_tool_call_output", "local_shell_call_output");

/** Never throws: what is not known is `other`. */
export function readBlock(value: unknown): Block {
  if (typeof value === "string") return { type: "text", text: value };
  const block = fieldsOf(value);
  const kind = textOf(block?.["type"]) ?? "part without a type";
  const known = block && READERS.get(kind)?.(block);
  return known ?? { type: "other", kind, raw: value };
}
