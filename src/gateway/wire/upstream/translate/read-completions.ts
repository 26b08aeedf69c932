/** What a request of the Chat Completions API asks for. */
import type { WireRequest } from "../../dialect/dialect.ts";
import { limits, readElements, ruleMessage, type Asked } from "./asked.ts";
import { fieldsOf, listOf, type Fields } from "../../json/fields.ts";
import { levelOf, limitOf, membersOf, wordsOf } from "./fields.ts";
import { chosen, distinct, functionTool, type OfferedTool } from "./tools.ts";

/** Tools with free text, which this protocol has too, are offered by no client that we know. */
function toolOf(tool: Fields): OfferedTool | undefined {
  if (tool["type"] !== "function") return undefined;
  const own = fieldsOf(tool["function"]);
  return functionTool(own, own["parameters"]);
}

function isRule({ role }: Fields): boolean {
  return role === "system" || role === "developer";
}

/** Throws `JsonScanError`. */
export function readCompletions(request: WireRequest): Asked {
  const member = membersOf(request);
  const { rules, messages, historyCount } = readElements(request, {
    rule: (element) => (isRule(element) ? wordsOf(element["content"]) : undefined),
    messages: (element, item) =>
      isRule(element) ? [ruleMessage(wordsOf(element["content"]))] : item.messages,
  });
  const tools = distinct(listOf(member("tools")).map(toolOf));
  return {
    system: rules.join("\n\n"),
    messages,
    historyCount,
    tools: chosen(tools, member("tool_choice")),
    ...limits(
      limitOf(member("max_completion_tokens"), member("max_tokens")),
      levelOf(member("reasoning_effort")),
    ),
  };
}
