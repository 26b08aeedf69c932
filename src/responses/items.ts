/**
 * Items of OpenAI's Responses API as parts of our messages: one reading for those that a running Codex tells and those of
 * a rollout. Nothing is taken for granted.
 */
import type { ImagePart, TextPart, ToolCallPart } from "../contract/message.ts";

/** An item, or a part of one. */
export type ItemFields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is ItemFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The parts of an item's `content`, `summary` or `output`; empty for what is no list. */
export function itemParts(value: unknown): readonly ItemFields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

/** Tools whose calls do not say their name. */
const NAMELESS: Readonly<Record<string, string>> = {
  local_shell_call: "local_shell",
  tool_search_call: "tool_search",
};
const CALLS = new Set(["function_call", "custom_tool_call", ...Object.keys(NAMELESS)]);

/** The call that an item stands for; undefined for any other item. Its id may be empty. */
export function itemCall(item: ItemFields): ToolCallPart | undefined {
  const type = text(item["type"]);
  if (!CALLS.has(type)) return undefined;
  const name = text(item["name"]) || (NAMELESS[type] ?? "unknown");
  const space = text(item["namespace"]);
  return {
    type: "toolCall",
    id: text(item["call_id"]) || text(item["id"]),
    name: toolName(space === "" ? name : `${space}__${name}`),
    arguments: argumentsOf(item["arguments"] ?? item["input"] ?? item["action"]),
  };
}

/** A name that every provider takes. */
export function toolName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 128);
}

/** What is no object, nor the JSON of one, is the value of `input`. */
export function argumentsOf(value: unknown): Record<string, unknown> {
  if (isFields(value)) return { ...value };
  if (value === undefined || value === null || value === "") return {};
  return parsed(value) ?? { input: value };
}

function parsed(value: unknown): Record<string, unknown> | undefined {
  if (typeof value !== "string" || !value.trimStart().startsWith("{")) return undefined;
  try {
    const found: unknown = JSON.parse(value);
    return isFields(found) ? { ...found } : undefined;
  } catch {
    // What the model wrote is kept as it is.
    return undefined;
  }
}

/** What a reasoning item says in the clear: its content, else its summary. */
export function itemReasoning(item: ItemFields): string {
  const texts = (value: unknown): string[] =>
    itemParts(value)
      .map((part) => text(part["text"]))
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
    (part) => dataUrlImage(text(part["image_url"])) ?? { type: "text", text: text(part["text"]) },
  );
}
