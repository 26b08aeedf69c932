/** What a request of the Messages API asks for. */
import type { AgentMessage, AssistantMessage, ImagePart, TextPart } from "../../../../contract/message.ts";
import type { ThinkingLevel } from "../../../../model/types.ts";
import { argumentsOf } from "../../../../responses/items.ts";
import type { WireRequest } from "../../dialect/dialect.ts";
import { limits, readElements, ruleMessage, type Asked } from "./asked.ts";
import { fieldsOf, listOf, textOf, type Fields } from "../../json/fields.ts";
import { levelOf, limitOf, membersOf, wordsOf } from "./fields.ts";
import { chosen, distinct, functionTool } from "./tools.ts";

/** A line of Claude Code for its provider's books, which differs from session to session. */
const BILLING = "x-anthropic-billing-header:";
/** Budgets from which on thinking counts as medium and as high, tokens. */
const MEDIUM_BUDGET = 4_096;
const HIGH_BUDGET = 16_384;

function systemOf(system: unknown): string {
  if (typeof system === "string") return system;
  const blocks = listOf(system).map((block) => textOf(block["text"]));
  return blocks.filter((text) => text !== "" && !text.startsWith(BILLING)).join("\n\n");
}

/** What a user or a tool says; of documents and the like a note stands in the place. */
function partOf(block: Fields): TextPart | ImagePart {
  if (block["type"] === "text") return { type: "text", text: textOf(block["text"]) };
  const source = fieldsOf(block["source"]);
  if (block["type"] === "image" && source["type"] === "base64")
    return { type: "image", data: textOf(source["data"]), mimeType: textOf(source["media_type"]) };
  if (source["type"] === "text") return { type: "text", text: textOf(source["data"]) };
  if (block["type"] === "tool_reference")
    return { type: "text", text: `[tool ${textOf(block["tool_name"])}]` };
  return { type: "text", text: `[${textOf(block["type"]) || "part"} left out]` };
}

function partsOf(content: unknown): (TextPart | ImagePart)[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return listOf(content).map(partOf);
}

/** Results stand before what the user says with them. */
function userMessages(content: unknown, nameOf: (id: string) => string): AgentMessage[] {
  const blocks = listOf(content);
  const results = blocks.filter(({ type }) => type === "tool_result");
  const own = typeof content === "string" ? content : blocks.filter(({ type }) => type !== "tool_result");
  const said: AgentMessage[] =
    own.length > 0 ? [{ role: "user", content: typeof own === "string" ? own : partsOf(own) }] : [];
  const told = results.map((block): AgentMessage => {
    const toolCallId = textOf(block["tool_use_id"]);
    return {
      role: "toolResult",
      toolCallId,
      toolName: nameOf(toolCallId),
      content: partsOf(block["content"]),
      isError: block["is_error"] === true,
    };
  });
  return [...told, ...said];
}

/** Thinking and what the provider's own tools did can be read by the provider alone. */
function assistantMessage(content: unknown): AssistantMessage {
  if (typeof content === "string") return { role: "assistant", content: [{ type: "text", text: content }] };
  const parts = listOf(content).flatMap((block): AssistantMessage["content"] => {
    if (block["type"] === "text") return [{ type: "text", text: textOf(block["text"]) }];
    if (block["type"] !== "tool_use") return [];
    const { id, name, input } = block;
    return [
      { type: "toolCall", id: textOf(id), name: textOf(name) || "unknown", arguments: argumentsOf(input) },
    ];
  });
  return { role: "assistant", content: parts };
}

function thinkingOf(thinking: Fields, effort: unknown): ThinkingLevel | undefined {
  if (thinking["type"] === "disabled") return "off";
  const budget = limitOf(thinking["budget_tokens"]);
  if (thinking["type"] !== "enabled" || budget === undefined) return levelOf(effort);
  if (budget >= HIGH_BUDGET) return "high";
  return budget >= MEDIUM_BUDGET ? "medium" : "low";
}

/** Throws `JsonScanError`. */
export function readMessages(request: WireRequest): Asked {
  const member = membersOf(request);
  const names = new Map<string, string>();
  const { rules, messages, historyCount } = readElements(request, {
    rule: ({ role, content }) => (role === "system" ? wordsOf(content) : undefined),
    messages: ({ role, content }) => {
      if (role === "system") return [ruleMessage(wordsOf(content))];
      if (role !== "assistant") return userMessages(content, (id) => names.get(id) ?? "unknown");
      const message = assistantMessage(content);
      for (const part of message.content) if (part.type === "toolCall") names.set(part.id, part.name);
      return [message];
    },
  });
  // Tools that the provider runs by itself have a type of their own.
  const own = listOf(member("tools")).filter(({ type }) => type === undefined || type === "custom");
  const tools = distinct(own.map((tool) => functionTool(tool, tool["input_schema"])));
  const effort = fieldsOf(member("output_config"))["effort"];
  return {
    system: [systemOf(member("system")), ...rules].filter(Boolean).join("\n\n"),
    messages,
    historyCount,
    tools: chosen(tools, member("tool_choice")),
    ...limits(limitOf(member("max_tokens")), thinkingOf(fieldsOf(member("thinking")), effort)),
  };
}
