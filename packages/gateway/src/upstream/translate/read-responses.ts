/** Reads a request of the Responses API, in the forms that Codex uses. */
import type { AgentMessage, TextPart } from "@pagurus/contract/message";
import { type Fields, recordOf, recordsOf, stringOf } from "@pagurus/core/data/record-fields";
import { filePart, readFile } from "@pagurus/core/protocols/files";
import { itemCall, itemContent, itemText } from "@pagurus/core/protocols/responses/responses-items";
import type { WireItem, WireRequest } from "../../dialect/wire-dialect.ts";
import { COMPACTION_TRIGGER } from "../../dialect/responses/responses-read.ts";
import { summaryMessage } from "../../dialect/responses/responses-summary.ts";
import { unsealed } from "../../dialect/sealed-summary.ts";
import { limits, readElements, ruleMessage, type Asked } from "./asked.ts";
import { askedShape } from "./answer-shapes.ts";
import { levelOf, limitOf, membersOf, wordsOf } from "./translate-fields.ts";
import { chosen, distinct, functionTool, type OfferedTool } from "./translate-tools.ts";

/** The single argument of a free-form tool. */
const INPUT_SCHEMA = {
  type: "object",
  properties: { input: { type: "string", description: "The tool's whole input, as plain text." } },
  required: ["input"],
};
/** Arguments of OpenAI's own shell tool, as in its calls. */
const SHELL_SCHEMA = {
  type: "object",
  properties: {
    command: { type: "array", items: { type: "string" }, description: "The program and its arguments." },
    working_directory: { type: "string" },
    timeout_ms: { type: "number" },
  },
  required: ["command"],
};
/** Prompt for a compaction by a `compaction_trigger` or by its address, which otherwise only its own provider can handle. */
const COMPACT =
  "Summarize the conversation so far for whoever continues it: the task, what was decided and done, what is left, and every fact that is still needed. Answer with the summary alone.";

/** The grammar of a free-form tool is no JSON schema; it is part of the description. */
function customTool(tool: Fields): OfferedTool | undefined {
  const { syntax, definition } = recordOf(tool["format"]);
  const grammar =
    stringOf(definition) === ""
      ? ""
      : `\n\nThe input must follow this ${stringOf(syntax)} grammar:\n${stringOf(definition)}`;
  const description = `${stringOf(tool["description"])}${grammar}`;
  return functionTool({ ...tool, description }, INPUT_SCHEMA, undefined, "custom");
}

/** Omits the provider's own tools (search, images, files), which other providers do not have. */
function toolsOf(tool: Fields, namespace?: string): (OfferedTool | undefined)[] {
  switch (tool["type"]) {
    case "function":
      return [functionTool(tool, tool["parameters"], namespace)];
    case "custom":
      return [customTool(tool)];
    case "namespace":
      return recordsOf(tool["tools"]).flatMap((inner) => toolsOf(inner, stringOf(tool["name"])));
    case "local_shell": {
      const shell = { name: "local_shell", description: "Runs a command and tells what it printed." };
      return [functionTool(shell, SHELL_SCHEMA, undefined, "local_shell")];
    }
    case "tool_search":
      if (tool["execution"] !== "client") return [];
      return [functionTool({ ...tool, name: "tool_search" }, tool["parameters"], undefined, "tool_search")];
    default:
      return [];
  }
}

function noteOf(part: Fields): TextPart {
  const file = readFile(part);
  return file ? filePart(file) : { type: "text", text: `[${stringOf(part["type"]) || "part"} left out]` };
}

function isRule({ type, role }: Fields): boolean {
  return (type === undefined || type === "message") && (role === "developer" || role === "system");
}

function readMessage(element: Fields): AgentMessage {
  return element["role"] === "assistant"
    ? { role: "assistant", content: [{ type: "text", text: itemText(element) }] }
    : { role: "user", content: itemContent(element["content"], noteOf) };
}

/** Reads the elements of `input` in order: a result is identified by the call before it, and a tool search adds tools. */
class InputReader {
  readonly found: (OfferedTool | undefined)[] = [];
  wantsSummary = false;
  readonly #names = new Map<string, string>();

  messages(element: Fields, item: WireItem): readonly AgentMessage[] {
    const type = stringOf(element["type"]) || "message";
    if (isRule(element)) return [ruleMessage(wordsOf(element["content"]))];
    if (type === "message") return [readMessage(element)];
    if (type === "additional_tools" || type === "tool_search_output") this.#learn(element);
    if (type === "additional_tools" || type === "reasoning") return [];
    if (type === COMPACTION_TRIGGER) {
      this.wantsSummary = true;
      return [{ role: "user", content: COMPACT }];
    }
    const call = itemCall(element);
    if (call) {
      this.#names.set(call.id, call.name);
      return [{ role: "assistant", content: [call] }];
    }
    if (type === "tool_search_output" || type.endsWith("_call_output")) return [this.#output(element)];
    const summary = unsealed(element["encrypted_content"])?.summary;
    if (summary !== undefined) return [{ role: "user", content: wordsOf(summaryMessage(summary).content) }];
    return item.messages;
  }

  #learn(element: Fields): void {
    this.found.push(...recordsOf(element["tools"]).flatMap((tool) => toolsOf(tool)));
  }

  #output(element: Fields): AgentMessage {
    const toolCallId = stringOf(element["call_id"]);
    const tools = recordsOf(element["tools"]).flatMap((tool) => toolsOf(tool));
    const names = tools.flatMap((tool) => (tool ? [tool.spec.name] : []));
    const content =
      element["type"] === "tool_search_output"
        ? [{ type: "text" as const, text: `Tools that are there now: ${names.join(", ") || "none"}` }]
        : itemContent(element["output"]);
    const toolName = this.#names.get(toolCallId) ?? (stringOf(element["name"]) || "unknown");
    if (toolCallId !== "") return { role: "toolResult", toolCallId, toolName, content, isError: false };
    // An output without a call is the harness's description of its surroundings.
    return { role: "user", content: [{ type: "text", text: `Output of ${toolName}:` }, ...content] };
  }
}

/** Throws `JsonScanError`. */
export function readResponses(request: WireRequest): Asked {
  const member = membersOf(request);
  const input = new InputReader();
  const { rules, messages, historyCount } = readElements(request, {
    rule: (element) => (isRule(element) ? wordsOf(element["content"]) : undefined),
    messages: (element, item) => input.messages(element, item),
  });
  const isWhole = request.compaction?.isWhole === true;
  const tools = distinct([...recordsOf(member("tools")).flatMap((tool) => toolsOf(tool)), ...input.found]);
  return {
    system: [stringOf(member("instructions")), ...rules].filter(Boolean).join("\n\n"),
    messages: isWhole ? [...messages, { role: "user", content: COMPACT }] : messages,
    historyCount,
    ...chosen(tools, askedShape("openai-responses", member)),
    wantsSummary: input.wantsSummary || isWhole,
    ...limits(limitOf(member("max_output_tokens")), levelOf(recordOf(member("reasoning"))["effort"])),
  };
}
