/**
 * Items of OpenAI's Responses API as parts of our messages: one reader for the items of a running Codex and those of a rollout. Validates
 * every field.
 */
import type { ImagePart, TextPart, ToolCallPart } from "../contract/message.ts";
import { isRecord, stringOf } from "../data/record-fields.ts";

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
const CALLS = new Set(["function_call", "custom_tool_call", ...Object.keys(NAMELESS)]);

/** The tool call in an item; undefined for any other item. Its id may be empty. */
export function itemCall(item: ItemFields): ToolCallPart | undefined {
  const type = stringOf(item["type"]);
  if (!CALLS.has(type)) return undefined;
  const name = stringOf(item["name"]) || (NAMELESS[type] ?? "unknown");
  const space = stringOf(item["namespace"]);
  return {
    type: "toolCall",
    id: stringOf(item["call_id"]) || stringOf(item["id"]),
    name: toolName(space === "" ? name : `${space}__${name}`),
    arguments: argumentsOf(item["arguments"] ?? item["input"] ?? item["action"]),
  };
}

/** A tool name with only characters that every provider accepts. */
export function toolName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 128);
}

/** A value that is no object, nor the JSON of one, becomes the value of `input`. */
export function argumentsOf(value: unknown): Record<string, unknown> {
  if (isRecord(value)) return { ...value };
  if (value === undefined || value === null || value === "") return {};
  return parsed(value) ?? { input: value };
}

function parsed(value: unknown): Record<string, unknown> | undefined {
  if (typeof value !== "string" || !value.trimStart().startsWith("{")) return undefined;
  try {
    const found: unknown = JSON.parse(value);
    return isRecord(found) ? { ...found } : undefined;
  } catch {
    // The model's text is kept as it is.
    return undefined;
  }
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

/** An image in a `data:` URL; undefined for any other. */
export function dataUrlImage(url: string): ImagePart | undefined {
  const comma = url.indexOf(",");
  const head = url.slice("data:".length, comma);
  if (!url.startsWith("data:") || comma < 0 || !head.endsWith(";base64")) return undefined;
  const mimeType = head.slice(0, -";base64".length).split(";")[0] || "image/png";
  return { type: "image", data: url.slice(comma + 1), mimeType };
}

/** The `output` of a call: a text, or parts of text and images. */
export function itemOutput(output: unknown): (TextPart | ImagePart)[] {
  if (typeof output === "string") return [{ type: "text", text: output }];
  return itemParts(output).map(
    (part) => dataUrlImage(stringOf(part["image_url"])) ?? { type: "text", text: stringOf(part["text"]) },
  );
}
