/** A call of a model: its package, loaded at the first one, and the options. */
import { hash } from "node:crypto";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import type { AgentMessage, AssistantMessage } from "../contract/message.ts";
import type { ModelInfo } from "../contract/model.ts";
import { shapeOptions, withShapeOptions } from "./answer-shape.ts";
import { buildPrompt, countMarks, hasMarks } from "./model-prompt.ts";
import type { Reasoning } from "./quirks/quirk-kinds.ts";
import { quirksOf } from "./quirks/quirk-table.ts";
import type { ModelRequest, ResolvedModel } from "./provider-types.ts";
import { watchedFetch } from "./watched-fetch.ts";

/** Maximum cache marks in one Anthropic request. */
const MOST_MARKS = 4;

/** Models that are kept for further calls. */
const MOST_KEPT = 16;
const keptModels = new Map<string, Promise<LanguageModelV4>>();

/**
 * The model as its protocol's package calls it; each call must have the signal of a `watchCall`. Kept for further calls: its schemas
 * take longer to create than to use.
 */
export async function loadLanguageModel(model: ResolvedModel): Promise<LanguageModelV4> {
  const { info, baseUrl: baseURL } = model;
  const apiKey = model.apiKey?.reveal();
  const settings = { baseURL, headers: { ...model.headers.reveal() }, ...(apiKey ? { apiKey } : {}) };
  const key = hash("sha256", JSON.stringify([info.api, info.provider, info.id, settings]));
  const known = keptModels.get(key);
  if (known) return known;
  const loading = quirksOf(info).loadPackage(info.id, { ...settings, fetch: watchedFetch });
  keptModels.set(key, loading);
  loading.catch(() => keptModels.delete(key));
  const [oldest] = keptModels.keys();
  if (keptModels.size > MOST_KEPT && oldest !== undefined) keptModels.delete(oldest);
  return loading;
}

/** Options of a call; the same request always gives the same bytes on the wire. */
export function callOptions(model: ResolvedModel, request: ModelRequest): LanguageModelV4CallOptions {
  const { info } = model;
  const quirks = quirksOf(info);
  const unbind = request.thinking === "off" && quirks.bindsThinking;
  const messages = unbind ? withoutThinking(request.messages) : request.messages;
  const prompt = buildPrompt(request.system, messages, info, request.stableCount ?? 0);
  const tools = toolsOf(request, info, countMarks(prompt));
  const thinking = thinkingOf(request, info, prompt);
  const { outputLimit } = quirks;
  const demanded = outputLimit === undefined ? undefined : Math.min(info.maxTokens, outputLimit);
  const maxOutputTokens = request.maxOutputTokens ?? demanded;
  const { toolChoice = { type: "auto" }, ...shape } = shapeOptions(info.api, request);
  const own = quirks.callOptions({ reasoning: info.reasoning, cacheKey: request.cacheKey, thinking });
  return {
    prompt,
    ...(tools.length > 0 ? { tools, toolChoice } : {}),
    ...shape,
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(thinking ? { reasoning: thinking } : {}),
    providerOptions: withShapeOptions(info.api, own, request),
  };
}

/**
 * The tools in their order; the last one has Anthropic's mark, which covers all of them. It is omitted where the prompt needs
 * all four: the system text's mark covers the tools too.
 */
function toolsOf(request: ModelRequest, info: ModelInfo, promptMarks: number): LanguageModelV4FunctionTool[] {
  const { strictTools } = quirksOf(info);
  const tools = request.tools.map((tool): LanguageModelV4FunctionTool => ({
    type: "function",
    name: tool.name,
    description: tool.description,
    inputSchema: tool.parameters,
    ...(strictTools === undefined ? {} : { strict: strictTools }),
  }));
  const last = tools.at(-1);
  if (last && hasMarks(info) && promptMarks < MOST_MARKS) {
    last.providerOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };
  }
  return tools;
}

function thinkingOf(
  request: ModelRequest,
  info: ModelInfo,
  prompt: LanguageModelV4Prompt,
): Reasoning | undefined {
  const { thinking, reasoningEffort: asked = thinking } = request;
  if (!info.reasoning || asked === undefined) return undefined;
  if (asked === "off") return "none";
  if (quirksOf(info).refusesUnsignedLoops && inUnsignedToolLoop(prompt)) return "none";
  return asked;
}

function inUnsignedToolLoop(prompt: LanguageModelV4Prompt): boolean {
  if (prompt.at(-1)?.role !== "tool") return false;
  const answer = prompt.findLast((message) => message.role === "assistant");
  return answer?.role === "assistant" && answer.content.every((part) => part.type !== "reasoning");
}

/** The messages without anything that only its provider can read. Text and tool calls are kept. */
export function withoutThinking(messages: readonly AgentMessage[]): AgentMessage[] {
  return messages.map((message) => {
    if (message.role !== "assistant") return message;
    const content: AssistantMessage["content"] = [];
    for (const part of message.content) {
      if (part.type === "thinking") continue;
      if (part.type === "toolCall" && part.signature !== undefined) {
        const { signature: _signature, ...call } = part;
        content.push(call);
      } else {
        content.push(part);
      }
    }
    return { ...message, content };
  });
}
