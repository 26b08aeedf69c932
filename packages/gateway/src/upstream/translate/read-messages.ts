/** Reads a request of the Messages API. */
import type { AgentMessage, AssistantMessage, ImagePart, TextPart } from "@pagurus/contract/message";
import { type Fields, recordOf, recordsOf, stringOf } from "@pagurus/core/data/record-fields";
import type { ThinkingLevel } from "@pagurus/core/model/provider-types";
import { filePart, readFile } from "@pagurus/core/protocols/files";
import {
  answerPart,
  blocksOf,
  contentPart,
  isResult,
  resultMessage,
} from "@pagurus/core/protocols/messages/messages-blocks";
import type { WireRequest } from "../../dialect/wire-dialect.ts";
import { limits, readElements, ruleMessage, type Asked } from "./asked.ts";
import { askedShape } from "./answer-shapes.ts";
import { levelOf, limitOf, membersOf, wordsOf } from "./translate-fields.ts";
import { chosen, distinct, functionTool } from "./translate-tools.ts";

/** A line of Claude Code for its provider's billing, which differs between sessions. */
const BILLING = "x-anthropic-billing-header:";
/** Lower bounds of the budgets for medium and high thinking, tokens. */
const MEDIUM_BUDGET = 4_096;
const HIGH_BUDGET = 16_384;

function systemOf(system: unknown): string {
  if (typeof system === "string") return system;
  const blocks = recordsOf(system).map((block) => stringOf(block["text"]));
  return blocks.filter((text) => text !== "" && !text.startsWith(BILLING)).join("\n\n");
}

/** Part of a user or tool message; a type without a counterpart, such as a search result, becomes a note. */
function messagePart(block: Fields): TextPart | ImagePart {
  const part = contentPart(block);
  if (part) return part;
  const file = readFile(block);
  if (file) return filePart(file);
  const source = recordOf(block["source"]);
  if (source["type"] === "text") return { type: "text", text: stringOf(source["data"]) };
  if (block["type"] === "tool_reference")
    return { type: "text", text: `[tool ${stringOf(block["tool_name"])}]` };
  return { type: "text", text: `[${stringOf(block["type"]) || "part"} left out]` };
}

function partsOf(content: unknown): (TextPart | ImagePart)[] {
  return blocksOf(content).map(messagePart);
}

/** Results come before the user's text of the same message. */
function readUserMessages(content: unknown, nameOf: (id: string) => string | undefined): AgentMessage[] {
  const blocks = recordsOf(content);
  const results = blocks.filter(isResult);
  const own = typeof content === "string" ? content : blocks.filter((block) => !isResult(block));
  const inputMessages: AgentMessage[] =
    own.length > 0 ? [{ role: "user", content: typeof own === "string" ? own : partsOf(own) }] : [];
  const resultMessages = results.map((block) => resultMessage(block, partsOf(block["content"]), nameOf));
  return [...resultMessages, ...inputMessages];
}

/** Omits thinking and the provider's own tool calls, which only that provider can read. */
function assistantMessage(content: unknown): AssistantMessage {
  const parts = blocksOf(content).map(answerPart);
  return {
    role: "assistant",
    content: parts.filter((part) => part !== undefined && part.type !== "thinking"),
  };
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
      if (role !== "assistant") return readUserMessages(content, (id) => names.get(id));
      const message = assistantMessage(content);
      for (const part of message.content) if (part.type === "toolCall") names.set(part.id, part.name);
      return [message];
    },
  });
  // Tools that the provider runs itself have a type of their own.
  const own = recordsOf(member("tools")).filter(({ type }) => type === undefined || type === "custom");
  const tools = distinct(own.map((tool) => functionTool(tool, tool["input_schema"])));
  const effort = recordOf(member("output_config"))["effort"];
  return {
    system: [systemOf(member("system")), ...rules].filter(Boolean).join("\n\n"),
    messages,
    historyCount,
    ...chosen(tools, askedShape("anthropic-messages", member)),
    ...limits(limitOf(member("max_tokens")), thinkingOf(recordOf(member("thinking")), effort)),
  };
}
