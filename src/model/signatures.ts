/**
 * The opaque data that providers attach to thinking and tool calls: read from an answer, and given back with the
 * conversation. `signature` holds Anthropic's and Google's string as it is, and for OpenAI a JSON object
 * `{id, encrypted}`. Only the provider and model that made a signature can read it; nothing else is sent back.
 */
import type {
  LanguageModelV4ReasoningPart,
  SharedV4ProviderMetadata,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { AgentMessage, AssistantMessage, ThinkingPart, ToolCallPart } from "../contract/message.ts";
import type { ModelApi } from "../contract/model.ts";

type Read = Pick<ThinkingPart, "signature" | "redacted">;

/**
 * What an answer's metadata says about a thinking part. `ended`: the part is complete; OpenAI's encrypted content is
 * only valid then.
 */
export function readThinkingSignature(
  metadata: SharedV4ProviderMetadata | undefined,
  api: ModelApi,
  ended: boolean,
): Read {
  if (api === "anthropic-messages") {
    const redacted = text(metadata?.["anthropic"]?.["redactedData"]);
    if (redacted) return { signature: redacted, redacted: true };
    const signature = text(metadata?.["anthropic"]?.["signature"]);
    return signature ? { signature } : {};
  }
  if (api === "google-generative-ai") {
    const signature = text(metadata?.["google"]?.["thoughtSignature"]);
    return signature ? { signature } : {};
  }
  if (api === "openai-responses") {
    const id = text(metadata?.["openai"]?.["itemId"]);
    const encrypted = ended ? text(metadata?.["openai"]?.["reasoningEncryptedContent"]) : undefined;
    return id ? { signature: JSON.stringify(encrypted ? { id, encrypted } : { id }) } : {};
  }
  return {};
}

export function readToolCallSignature(
  metadata: SharedV4ProviderMetadata | undefined,
  api: ModelApi,
): string | undefined {
  return api === "google-generative-ai" ? text(metadata?.["google"]?.["thoughtSignature"]) : undefined;
}

/** The thinking parts of a message of the same model that can be sent back, in the packages' form. */
export function signedThinking(
  message: AssistantMessage,
  api: ModelApi,
): Map<ThinkingPart, LanguageModelV4ReasoningPart> {
  const parts = message.content.filter((part) => part.type === "thinking");
  const signed = new Map<ThinkingPart, LanguageModelV4ReasoningPart>();
  // One reasoning item of OpenAI is several parts, and only its last holds the encrypted content; an item without
  // any cannot be sent, because nothing is stored at the provider.
  const items = new Set(
    parts.map((part) => openAiItem(part)).map((item) => (item?.encrypted ? item.id : undefined)),
  );
  for (const part of parts) {
    if (!part.signature) continue;
    let options: SharedV4ProviderOptions | undefined;
    if (api === "anthropic-messages") {
      options = {
        anthropic: part.redacted ? { redactedData: part.signature } : { signature: part.signature },
      };
    } else if (api === "google-generative-ai") {
      options = { google: { thoughtSignature: part.signature } };
    } else if (api === "openai-responses") {
      const item = openAiItem(part);
      if (item && items.has(item.id)) {
        options = { openai: { itemId: item.id, reasoningEncryptedContent: item.encrypted ?? null } };
      }
    }
    if (options) signed.set(part, { type: "reasoning", text: part.thinking, providerOptions: options });
  }
  return signed;
}

export function toolCallOptions(call: ToolCallPart, api: ModelApi): SharedV4ProviderOptions | undefined {
  return call.signature && api === "google-generative-ai"
    ? { google: { thoughtSignature: call.signature } }
    : undefined;
}

/** The messages without anything that only its provider can read. The words and the tool calls stay. */
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

function openAiItem(part: ThinkingPart): { id: string; encrypted?: string } | undefined {
  if (!part.signature?.startsWith("{")) return undefined;
  try {
    const { id, encrypted } = JSON.parse(part.signature) as Record<string, unknown>;
    if (typeof id !== "string") return undefined;
    return typeof encrypted === "string" ? { id, encrypted } : { id };
  } catch {
    // Not ours: a signature of another protocol that happens to start with a brace.
    return undefined;
  }
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
