/** The request that a package of the AI SDK sends for a call: what our writers are compared with. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type {
  JSONObject,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { ImagePart, ThinkingPart } from "../../packages/contract/src/message.ts";
import type { ModelInfo } from "../../packages/contract/src/model.ts";
import { modelCall } from "../../packages/core/src/model/model-call.ts";
import type {
  AnswerPart,
  PromptMessage,
  PromptPart,
  PromptResult,
} from "../../packages/core/src/model/prompt-types.ts";
import type { ModelRequest, ResolvedModel } from "../../packages/core/src/model/provider-types.ts";
import { reasoningItem } from "../../packages/core/src/protocols/responses/responses-reasoning.ts";

export interface SdkRequest {
  url: string;
  headers: Headers;
  body: unknown;
}

const MARK = { anthropic: { cacheControl: { type: "ephemeral" } } };

function options(mark: true | undefined): { providerOptions?: SharedV4ProviderOptions } {
  return mark ? { providerOptions: MARK } : {};
}

function file({ mimeType, data }: Pick<ImagePart, "mimeType" | "data">): {
  type: "file";
  mediaType: string;
  data: { type: "data"; data: string };
} {
  return { type: "file", mediaType: mimeType, data: { type: "data", data } };
}

function userPart(part: PromptPart) {
  if (part.type === "text") return { type: "text" as const, text: part.text, ...options(part.mark) };
  return part.type === "image" ? file(part) : { ...file(part), filename: part.name ?? "" };
}

function signature(api: string, part: ThinkingPart): SharedV4ProviderOptions {
  const signed = part.signature ?? "";
  const { id = "", encrypted = null } = reasoningItem(part) ?? {};
  if (api === "openai-responses") return { openai: { itemId: id, reasoningEncryptedContent: encrypted } };
  if (api === "google-generative-ai") return { google: { thoughtSignature: signed } };
  return { anthropic: part.redacted ? { redactedData: signed } : { signature: signed } };
}

function answerPart(api: string, part: AnswerPart) {
  if (part.type === "text") return { type: "text" as const, text: part.text };
  if (part.type === "thinking")
    return {
      type: "reasoning" as const,
      text: part.thinking,
      providerOptions: signature(api, part),
    };
  const signed = part.signature;
  return {
    type: "tool-call" as const,
    toolCallId: part.id,
    toolName: part.name,
    input: part.arguments,
    ...(signed === undefined ? {} : { providerOptions: { google: { thoughtSignature: signed } } }),
  };
}

function result({ id, name, text, images, failed }: PromptResult) {
  const value = [{ type: "text" as const, text }, ...images.map(file)];
  return {
    type: "tool-result" as const,
    toolCallId: id,
    toolName: name,
    output:
      images.length > 0
        ? { type: "content" as const, value }
        : { type: failed ? ("error-text" as const) : ("text" as const), value: text },
  };
}

function promptMessage(api: string, message: PromptMessage): LanguageModelV4Message {
  const marked = options(message.mark);
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text, ...marked };
    case "user":
      return { role: "user", content: message.content.map(userPart), ...marked };
    case "assistant":
      return {
        role: "assistant",
        content: message.content.map((part) => answerPart(api, part)),
        ...marked,
      };
    case "tool":
      return { role: "tool", content: message.content.map(result), ...marked };
  }
}

/** Thinking of Claude models that the package has no option of its own for. */
function claudeThinking(id: string, thinking: string | undefined): JSONObject | undefined {
  const adaptive = { type: "adaptive", display: "summarized" };
  if (/claude-(?:fable-5-[1-9]|(?:opus|sonnet|haiku)-5-[5-9])(?:\D|$)/.test(id))
    return thinking === "none"
      ? undefined
      : { ...adaptive, blockBinding: { prefixMismatchBehavior: "drop_block" } };
  if (!/claude-(?:opus-4-[6-9]|sonnet-4-[6-9]|[a-z]+-[5-9])(?:\D|$)/.test(id)) return undefined;
  return thinking === undefined || thinking === "none" ? undefined : adaptive;
}

function providerOptions(
  { api, id, reasoning, provider }: ModelInfo,
  thinking: string | undefined,
  cacheKey: string | undefined,
): SharedV4ProviderOptions {
  const asks = thinking !== undefined && thinking !== "none";
  const key: JSONObject = cacheKey === undefined ? {} : { promptCacheKey: cacheKey };
  switch (api) {
    case "anthropic-messages": {
      const thought = claudeThinking(id, thinking);
      return { anthropic: { toolStreaming: false, ...(thought ? { thinking: thought } : {}) } };
    }
    case "openai-responses":
      return {
        openai: {
          store: false,
          ...key,
          ...(reasoning ? { forceReasoning: true } : {}),
          ...(asks ? { reasoningSummary: "auto" } : {}),
        },
      };
    case "openai-completions":
      return provider === "openai" ? { openai: { store: false, ...key } } : {};
    default:
      return asks ? { google: { thinkingConfig: { includeThoughts: true } } } : {};
  }
}

function languageModel({ info, baseUrl }: ResolvedModel, fetch: typeof globalThis.fetch): LanguageModelV4 {
  const settings = { baseURL: baseUrl, apiKey: "key", fetch };
  switch (info.api) {
    case "anthropic-messages":
      return createAnthropic(settings)(info.id);
    case "openai-responses":
      return createOpenAI(settings).responses(info.id);
    case "google-generative-ai":
      return createGoogleGenerativeAI(settings)(info.id);
    default:
      if (info.provider === "openai") return createOpenAI(settings).chat(info.id);
      return createOpenAICompatible({ name: "compatible", includeUsage: true, ...settings }).chatModel(
        info.id,
      );
  }
}

export async function sdkRequest(model: ResolvedModel, request: ModelRequest): Promise<SdkRequest> {
  const { facts, prompt, tools } = modelCall(model, request);
  const { api } = model.info;
  let sent: SdkRequest | undefined;
  const fetch: typeof globalThis.fetch = async (url, init) => {
    if (typeof url !== "string" || typeof init?.body !== "string")
      throw new Error("not the request of a package");
    sent = { url, headers: new Headers(init.headers), body: JSON.parse(init.body) };
    return new Response("{}", { status: 400 });
  };
  const { maxOutputTokens, thinking, cacheKey } = facts;
  const call: LanguageModelV4CallOptions = {
    prompt: prompt.map((message) => promptMessage(api, message)),
    ...(tools.length > 0
      ? {
          tools: tools.map(({ name, description, parameters, mark }) => ({
            type: "function" as const,
            name,
            description,
            inputSchema: parameters,
            ...(api === "openai-responses" ? { strict: false } : {}),
            ...options(mark),
          })),
          toolChoice: { type: "auto" },
        }
      : {}),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(thinking === undefined ? {} : { reasoning: thinking }),
    providerOptions: providerOptions(model.info, thinking, cacheKey),
  };
  // The server's answer is of no interest.
  await languageModel(model, fetch)
    .doStream(call)
    .then(undefined, () => undefined);
  if (!sent) throw new Error("the package sent nothing");
  return sent;
}
