/** Loads the provider package of a protocol, at the first call that needs it, and says what a request asks of it. */
import type {
  JSONObject,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { PagurusError } from "../contract/errors.ts";
import type { ModelInfo } from "../contract/model.ts";
import { buildPrompt, countMarks } from "./prompt.ts";
import { withoutThinking } from "./signatures.ts";
import type { ModelRequest, ResolvedModel } from "./types.ts";

/** For protocols whose package refuses to work without a key, at endpoints that need none. */
const NO_KEY = "none";

/**
 * The output limit where a protocol demands one and the caller has none. Not the model's full limit: Anthropic
 * refuses a request whose input and limit together exceed the window.
 */
const DEMANDED_LIMIT = 32_000;

/** Cache marks that Anthropic takes in one request. */
const MOST_MARKS = 4;

/** Claude models that think adaptively. They leave the text of their thinking out unless asked to summarize it. */
const ADAPTIVE_CLAUDE = /claude-(?:opus-4-[6-9]|sonnet-4-[6-9]|[a-z]+-[5-9])(?:\D|$)/;

/**
 * Claude models whose thinking is bound to the conversation that it came from; a compaction changes what stands
 * before it. Source: the "preserved thinking" page of Anthropic's documentation.
 */
const BOUND_CLAUDE = /claude-(?:fable-5-[1-9]|(?:opus|sonnet|haiku)-5-[5-9])(?:\D|$)/;

/** Importing a package costs 60 to 140 ms (most of it its schema library), so only the one that is used is loaded. */
export async function loadLanguageModel(
  model: ResolvedModel,
  fetch: typeof globalThis.fetch,
): Promise<LanguageModelV4> {
  const { info, baseUrl: baseURL } = model;
  const headers = { ...model.headers.reveal() };
  const apiKey = model.apiKey?.reveal();
  switch (info.api) {
    case "openai-responses": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ baseURL, headers, fetch, apiKey: apiKey ?? NO_KEY }).responses(info.id);
    }
    case "openai-completions": {
      // OpenAI's own models name some options differently (max_completion_tokens); the others follow the old names.
      if (info.provider === "openai") {
        const { createOpenAI } = await import("@ai-sdk/openai");
        return createOpenAI({ baseURL, headers, fetch, apiKey: apiKey ?? NO_KEY }).chat(info.id);
      }
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const settings = { name: "compatible", baseURL, headers, fetch, includeUsage: true };
      return createOpenAICompatible({ ...settings, ...(apiKey ? { apiKey } : {}) }).chatModel(info.id);
    }
    case "anthropic-messages": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ baseURL, headers, fetch, apiKey: apiKey ?? NO_KEY })(info.id);
    }
    case "google-generative-ai": {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      return createGoogleGenerativeAI({ baseURL, headers, fetch, apiKey: apiKey ?? NO_KEY })(info.id);
    }
    case "offline":
      throw new PagurusError("internal", "The offline model is not called over a network.");
  }
}

/** The call's options; the same request always gives the same bytes on the wire. */
export function callOptions(model: ResolvedModel, request: ModelRequest): LanguageModelV4CallOptions {
  const { info } = model;
  // Bound thinking cannot be dropped by the server where thinking is off, so it is left out here.
  const unbind = request.thinking === "off" && BOUND_CLAUDE.test(info.id);
  const messages = unbind ? withoutThinking(request.messages) : request.messages;
  const prompt = buildPrompt(request.system, messages, info, request.stableCount ?? 0);
  const tools = toolsOf(request, info, countMarks(prompt));
  const thinking = thinkingOf(request, info, prompt);
  const demanded = info.api === "anthropic-messages" ? Math.min(info.maxTokens, DEMANDED_LIMIT) : undefined;
  const maxOutputTokens = request.maxOutputTokens ?? demanded;
  return {
    prompt,
    ...(tools.length > 0 ? { tools, toolChoice: { type: "auto" } } : {}),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(thinking ? { reasoning: thinking } : {}),
    providerOptions: providerOptions(info, request, thinking),
  };
}

/**
 * The tools in the given order; the last one carries Anthropic's mark, which covers all of them. It gives way where
 * the prompt needs all four: the system text's mark covers the tools too.
 */
function toolsOf(request: ModelRequest, info: ModelInfo, promptMarks: number): LanguageModelV4FunctionTool[] {
  const tools = request.tools.map((tool): LanguageModelV4FunctionTool => ({
    type: "function",
    name: tool.name,
    description: tool.description,
    inputSchema: tool.parameters,
    // The Responses API is strict by default, and strict mode refuses schemas with optional properties.
    ...(info.api === "openai-responses" ? { strict: false } : {}),
  }));
  const last = tools.at(-1);
  if (last && info.api === "anthropic-messages" && info.promptCache === "marks" && promptMarks < MOST_MARKS) {
    last.providerOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };
  }
  return tools;
}

type Reasoning = Exclude<LanguageModelV4CallOptions["reasoning"], undefined>;

function thinkingOf(
  request: ModelRequest,
  info: ModelInfo,
  prompt: LanguageModelV4Prompt,
): Reasoning | undefined {
  if (!info.reasoning || request.thinking === undefined) return undefined;
  if (request.thinking === "off") return "none";
  // Claude models with a thinking budget refuse to think within a tool loop that was begun without (signed)
  // thinking, as when another model began it.
  const strict = info.api === "anthropic-messages" && !ADAPTIVE_CLAUDE.test(info.id);
  if (strict && inUnsignedToolLoop(prompt)) return "none";
  return request.thinking;
}

function inUnsignedToolLoop(prompt: LanguageModelV4Prompt): boolean {
  if (prompt.at(-1)?.role !== "tool") return false;
  const answer = prompt.findLast((message) => message.role === "assistant");
  return answer?.role === "assistant" && answer.content.every((part) => part.type !== "reasoning");
}

function providerOptions(
  info: ModelInfo,
  request: ModelRequest,
  thinking: Reasoning | undefined,
): SharedV4ProviderOptions {
  const shows = thinking !== undefined && thinking !== "none";
  const cache = request.cacheKey === undefined ? {} : { promptCacheKey: request.cacheKey };
  switch (info.api) {
    case "openai-responses":
      return {
        openai: {
          // Nothing is kept at the provider: our transcript is the record. Reasoning then travels encrypted.
          store: false,
          strictJsonSchema: false,
          ...cache,
          ...(info.reasoning ? { forceReasoning: true } : {}),
          ...(shows ? { reasoningSummary: "auto" } : {}),
        },
      };
    case "anthropic-messages":
      // Fine-grained tool streaming would skip the server's check that the arguments are valid JSON.
      return {
        anthropic: {
          toolStreaming: false,
          ...claudeThinking(info.id, thinking),
        },
      };
    case "openai-completions":
      return info.provider === "openai" ? { openai: { store: false, ...cache } } : {};
    case "google-generative-ai":
      return shows ? { google: { thinkingConfig: { includeThoughts: true } } } : {};
    default:
      return {};
  }
}

/** Asks adaptive models for summaries of their thinking, and bound ones to drop what a compaction has invalidated. */
function claudeThinking(id: string, thinking: Reasoning | undefined): { thinking?: JSONObject } {
  if (thinking === "none") return {};
  const adaptive = { type: "adaptive", display: "summarized" };
  // These think by default, so saying so changes nothing but the display.
  if (BOUND_CLAUDE.test(id)) {
    return { thinking: { ...adaptive, blockBinding: { prefixMismatchBehavior: "drop_block" } } };
  }
  return thinking !== undefined && ADAPTIVE_CLAUDE.test(id) ? { thinking: adaptive } : {};
}
