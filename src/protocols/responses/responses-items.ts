/**
 * Items of OpenAI's Responses API as parts of our messages: one reader for the items of a running Codex and those of a rollout. Validates
 * every field.
 */
import type { ImagePart, TextPart, ToolCallPart } from "../../contract/message.ts";
import { isRecord, stringOf } from "../../data/record-fields.ts";
import { argumentsOf, dataUrlImage, toolName } from "../protocol-parts.ts";

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

/** The readable text of a reasoning item: its content, else its summary. */
export function itemReasoning(item: ItemFields): string {
  const texts = (value: unknown): string[] =>
    itemParts(value)
      .map((part) => stringOf(part["text"]))
      .filter(Boolean);
  const content = texts(item["content"]);
  return (content.length > 0 ? content : texts(item["summary"])).join("\n\n");
}

/** The `output` of a call: a text, or parts of text and images. */
export function itemOutput(output: unknown): (TextPart | ImagePart)[] {
  if (typeof output === "string") return [{ type: "text", text: output }];
  return itemParts(output).map(
    (part) => dataUrlImage(stringOf(part["image_url"])) ?? { type: "text", text: stringOf(part["text"]) },
  );
}
