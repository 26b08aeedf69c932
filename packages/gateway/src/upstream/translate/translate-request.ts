/** Converts the content of a request to a request for a model of any protocol. */
import { REFUSED_ARGUMENTS } from "@pagurus/core/platform/call-arguments";
import { repairPairs } from "@pagurus/core/compaction/tool-pairing";
import type { AgentMessage, AssistantMessage } from "@pagurus/contract/message";
import type { ModelInfo } from "@pagurus/contract/model";
import { quirksOf } from "@pagurus/core/model/quirks/quirk-table";
import type { ModelRequest } from "@pagurus/core/model/provider-types";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { messagesTokens } from "@pagurus/core/tokens/message-tokens";
import type { WireApi, WireRequest } from "../../dialect/wire-dialect.ts";
import type { Asked } from "./asked.ts";
import { readCompletions } from "./read-completions.ts";
import { ATTEMPTS } from "../upstream.ts";
import { readGenerateContent } from "./read-generate-content.ts";
import { readMessages } from "./read-messages.ts";
import { readResponses } from "./read-responses.ts";
import { offeredName, type OfferedTool } from "./translate-tools.ts";
import { defined } from "@pagurus/core/data/defined";

const READERS: Readonly<Record<WireApi, (request: WireRequest) => Asked>> = {
  "openai-responses": readResponses,
  "anthropic-messages": readMessages,
  "openai-completions": readCompletions,
  "google-generative-ai": readGenerateContent,
};

/** Throws `JsonScanError`. */
export function readAsked(request: WireRequest): Asked {
  return READERS[request.api](request);
}

/** Merges the parts of one answer, with the tool names that the model is offered. */
function joined(messages: readonly AgentMessage[], info: ModelInfo): AgentMessage[] {
  const whole: AgentMessage[] = [];
  for (const message of messages) {
    const last = whole.at(-1);
    if (message.role === "assistant") {
      const content = message.content.filter(({ type }) => type !== "thinking").map(renamed);
      if (last?.role === "assistant") last.content.push(...content);
      else whole.push({ role: "assistant", content });
    } else if (message.role === "toolResult")
      whole.push({ ...message, toolName: offeredName(message.toolName) });
    else
      whole.push(message.fragment && !quirksOf(info).developerMessages ? wrapped(message.content) : message);
  }
  return whole;
}

function renamed(part: AssistantMessage["content"][number]): AssistantMessage["content"][number] {
  return part.type === "toolCall" ? { ...part, name: offeredName(part.name) } : part;
}

/** Wraps rules that have to be sent as user text in a mark. */
function wrapped(content: unknown): AgentMessage {
  return { role: "user", content: `<developer_instructions>\n${String(content)}\n</developer_instructions>` };
}

/** Messages in an order that every provider accepts. */
function conversation(messages: readonly AgentMessage[], info: ModelInfo): AgentMessage[] {
  return repairPairs(joined(messages, info));
}

export function modelRequest(
  asked: Asked,
  info: ModelInfo,
  signal: AbortSignal,
  cacheKey: string | undefined,
): ModelRequest {
  const { system, tools, maxOutputTokens, thinking, shape } = asked;
  const history = asked.messages.slice(0, asked.historyCount);
  return {
    system,
    messages: conversation(asked.messages, info),
    tools: tools.map(({ spec }) => spec),
    stableCount: conversation(history, info).length,
    // A harness requests as many tokens as its own model can generate.
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens: Math.min(maxOutputTokens, info.maxTokens) }),
    ...defined({ thinking, cacheKey }),
    ...shape,
    retry: { attempts: ATTEMPTS },
    signal,
  };
}

/** Estimated tokens of the whole request. */
export function askedTokens({ system, tools, messages }: Asked): number {
  return prefixTokens(system, tools) + messagesTokens(messages);
}

function prefixTokens(system: string, tools: readonly OfferedTool[]): number {
  return estimateTokens(system) + estimateTokens(JSON.stringify(tools.map(({ spec }) => spec)));
}

/** One sentence on why a model cannot answer such requests regardless of their messages; undefined if it can. */
export function translationProblem(info: ModelInfo, { system, tools }: Asked): string | undefined {
  const tokens = prefixTokens(system, tools);
  if (tokens < info.contextWindow) return undefined;
  return (
    // Not in the words of an overflow, which the harness would compact for.
    `The instructions and tools of this harness take about ${tokens} tokens, and the whole window of ` +
    `"${info.ref}" has ${info.contextWindow}; choose a model with a larger one.`
  );
}

/**
 * The answer with the harness's tool names, and with ids that are new to its conversation: some servers count their calls from 0 in
 * each answer, and a harness finds the result of a call by its id. `bodies`: everything that the harness has sent.
 */
export function asHarnessKnows(
  message: AssistantMessage,
  { tools, shape }: Asked,
  bodies: readonly Buffer[],
): AssistantMessage {
  const flat = new Map(tools.map((tool) => [tool.spec.name, tool.flat]));
  const used = new Set<string>();
  const isUsed = (id: string): boolean =>
    used.has(id) || bodies.some((body) => body.includes(JSON.stringify(id)));
  // A harness would run a call whose arguments were truncated or invalid.
  const whole = message.content.filter(
    (part) => part.type !== "toolCall" || !(REFUSED_ARGUMENTS in part.arguments),
  );
  const first = whole.find(({ type }) => type === "toolCall");
  // Not every protocol has a field for the limit.
  const isSerial = shape.parallelToolCalls === false;
  const kept = whole.filter((part) => part.type !== "toolCall" || !isSerial || part === first);
  const content = kept.map((part) => {
    if (part.type !== "toolCall") return part;
    let { id } = part;
    for (let copy = 2; isUsed(id); copy += 1) id = `${part.id}_${copy}`;
    used.add(id);
    return { ...part, id, name: flat.get(part.name) ?? part.name };
  });
  return { ...message, content };
}
