/** What this room gives and takes: a resolved model, one request to it, the parts of its answer. */
import type { AgentMessage, AssistantMessage } from "../contract/message.ts";
import type { ModelInfo } from "../contract/model.ts";
import type { ToolSpec } from "../contract/tool.ts";
import type { Secret } from "./secret.ts";

/** A model with all that a call needs. Safe to print: the secrets print as `[secret]`. */
export interface ResolvedModel {
  info: ModelInfo;
  /** Without a slash at its end; empty for the offline model. */
  baseUrl: string;
  headers: Secret<Readonly<Record<string, string>>>;
  /** Absent where the endpoint needs no key. */
  apiKey?: Secret<string>;
  /** Ids that are known at the provider, for the error about one that it does not have. */
  knownIds?: readonly string[];
  /** Where the key came from (`OPENAI_API_KEY`, `models.providers.x.apiKey`), for messages about it. */
  keySource?: string;
}

export interface RetryOptions {
  /** Calls in all, the first one included. Default 5. */
  attempts?: number;
  /** Pause before the second call; doubles from there. Default 500 ms. */
  baseMs?: number;
  /** Longest pause of our own; a server's `retry-after` may ask for three times as much. Default 20,000 ms. */
  maxMs?: number;
}

export type ThinkingLevel = "off" | "low" | "medium" | "high";

export interface ModelRequest {
  /** Empty: no system message. */
  system: string;
  messages: readonly AgentMessage[];
  tools: readonly ToolSpec[];
  /** Default: the provider's own; where the protocol demands one (Anthropic), the model's, at most 32,000. */
  maxOutputTokens?: number;
  /** Absent: the provider's default. Ignored for models that do not reason. */
  thinking?: ThinkingLevel;
  /** The session id: OpenAI routes requests with the same key to the same prompt cache. */
  cacheKey?: string;
  /** How many leading messages later requests will start with too; where Anthropic's history mark goes. */
  stableCount?: number;
  signal: AbortSignal;
  retry?: RetryOptions;
  /** Longest silence between two pieces of an answer, ms. The first may take 2.5 times as long. Default 120,000. */
  idleTimeoutMs?: number;
}

export type ModelPart =
  | { type: "text"; delta: string }
  | { type: "thinking"; delta: string }
  /** Call number `attempt` failed; the next one follows in `delayMs`. What came before is void: start over. */
  | { type: "retry"; attempt: number; delayMs: number; reason: string }
  /** The last part of every answer. */
  | { type: "finish"; message: AssistantMessage };
