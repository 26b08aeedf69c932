/** What a request asks for, as a request to a model of any protocol. */
import { repairPairs } from "../../../../compaction/pairing.ts";
import type { AgentMessage, AssistantMessage } from "../../../../contract/message.ts";
import type { ModelInfo } from "../../../../contract/model.ts";
import { takesDeveloper } from "../../../../model/developer-role.ts";
import type { ModelRequest } from "../../../../model/types.ts";
import { estimateTokens } from "../../../../tokens/estimate.ts";
import { messagesTokens } from "../../../../tokens/messages.ts";
import type { WireApi, WireRequest } from "../../dialect/dialect.ts";
import type { Asked } from "./asked.ts";
import { readCompletions } from "./read-completions.ts";
import { readMessages } from "./read-messages.ts";
import { readResponses } from "./read-responses.ts";
import { offeredName, type OfferedTool } from "./tools.ts";

const READERS: Readonly<Record<WireApi, (request: WireRequest) => Asked>> = {
  "openai-responses": readResponses,
  "anthropic-messages": readMessages,
  "openai-completions": readCompletions,
};

/** Throws `JsonScanError`. */
export function readAsked(request: WireRequest): Asked {
  return READERS[request.api](request);
}

/** The pieces of one answer together again, with the names that the model is offered its tools by. */
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
    else whole.push(message.fragment && !takesDeveloper(info) ? wrapped(message.content) : message);
  }
  return whole;
}

function renamed(part: AssistantMessage["content"][number]): AssistantMessage["content"][number] {
  return part.type === "toolCall" ? { ...part, name: offeredName(part.name) } : part;
}

/** Rules that have to stand as a user's words are marked as what they are. */
function wrapped(content: unknown): AgentMessage {
  return { role: "user", content: `<developer_instructions>\n${String(content)}\n</developer_instructions>` };
}

/** In an order that every provider takes. */
function conversation(messages: readonly AgentMessage[], info: ModelInfo): AgentMessage[] {
  return repairPairs(joined(messages, info));
}

export function modelRequest(
  asked: Asked,
  info: ModelInfo,
  signal: AbortSignal,
  cacheKey: string | undefined,
): ModelRequest {
  const { system, tools, maxOutputTokens, thinking } = asked;
  const history = asked.messages.slice(0, asked.historyCount);
  return {
    system,
    messages: conversation(asked.messages, info),
    tools: tools.map(({ spec }) => spec),
    stableCount: conversation(history, info).length,
    // A harness asks for what its own model could say.
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens: Math.min(maxOutputTokens, info.maxTokens) }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(cacheKey === undefined ? {} : { cacheKey }),
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

/** Why a model cannot answer such requests whatever is said in them, in one sentence; undefined where it can. */
export function translationProblem(info: ModelInfo, { system, tools }: Asked): string | undefined {
  const tokens = prefixTokens(system, tools);
  if (tokens < info.contextWindow) return undefined;
  return (
    `The instructions and tools of this harness take about ${tokens} tokens, more than the whole window of ` +
    `"${info.ref}" (${info.contextWindow}); choose a model with a larger one.`
  );
}

/**
 * The answer with the harness's names, and with ids that its conversation does not have yet: some servers count their calls
 * from 0 in each answer, and a harness finds the result of a call by its id. `bodies`: all that the harness has told.
 */
export function asHarnessKnows(
  message: AssistantMessage,
  { tools }: Asked,
  bodies: readonly Buffer[],
): AssistantMessage {
  const flat = new Map(tools.map((tool) => [tool.spec.name, tool.flat]));
  const used = new Set<string>();
  const isUsed = (id: string): boolean =>
    used.has(id) || bodies.some((body) => body.includes(JSON.stringify(id)));
  const content = message.content.map((part) => {
    if (part.type !== "toolCall") return part;
    let { id } = part;
    for (let copy = 2; isUsed(id); copy += 1) id = `${part.id}_${copy}`;
    used.add(id);
    return { ...part, id, name: flat.get(part.name) ?? part.name };
  });
  return { ...message, content };
}
