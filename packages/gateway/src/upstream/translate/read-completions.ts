/** Reads a request of the Chat Completions API. */
import { type Fields, recordOf, recordsOf } from "@pagurus/core/data/record-fields";
import type { AgentMessage } from "@pagurus/contract/message";
import { filePart, readFile } from "@pagurus/core/protocols/files";
import type { WireRequest } from "../../dialect/wire-dialect.ts";
import { limits, readElements, ruleMessage, type Asked } from "./asked.ts";
import { askedShape } from "./answer-shapes.ts";
import { levelOf, limitOf, membersOf, wordsOf } from "./translate-fields.ts";
import { chosen, distinct, functionTool, type OfferedTool } from "./translate-tools.ts";

/** This protocol also has tools with free text, but no known client offers them. */
function offeredFunction(tool: Fields): OfferedTool | undefined {
  if (tool["type"] !== "function") return undefined;
  const own = recordOf(tool["function"]);
  return functionTool(own, own["parameters"]);
}

function isRule({ role }: Fields): boolean {
  return role === "system" || role === "developer";
}

/** The messages of an element with the files of its content, which the conversation holds notes of. */
function withFiles({ content }: Fields, messages: readonly AgentMessage[]): readonly AgentMessage[] {
  const parts = recordsOf(content);
  if (!parts.some(readFile)) return messages;
  return messages.map((message): AgentMessage => {
    if (message.role !== "user" || typeof message.content === "string") return message;
    const shown = message.content.map((part, at) => {
      const file = readFile(parts[at] ?? {});
      return file ? filePart(file) : part;
    });
    return { ...message, content: shown };
  });
}

/** Throws `JsonScanError`. */
export function readCompletions(request: WireRequest): Asked {
  const member = membersOf(request);
  const { rules, messages, historyCount } = readElements(request, {
    rule: (element) => (isRule(element) ? wordsOf(element["content"]) : undefined),
    messages: (element, item) =>
      isRule(element) ? [ruleMessage(wordsOf(element["content"]))] : withFiles(element, item.messages),
  });
  const tools = distinct(recordsOf(member("tools")).map(offeredFunction));
  return {
    system: rules.join("\n\n"),
    messages,
    historyCount,
    ...chosen(tools, askedShape("openai-completions", member)),
    ...limits(
      limitOf(member("max_completion_tokens"), member("max_tokens")),
      levelOf(member("reasoning_effort")),
    ),
  };
}
