/** Interface of the model layer: a resolved model, one request to it, the parts of its answer. */
import type { AgentMessage, AssistantMessage } from "@pagurus/contract/message";
import type { ModelInfo } from "@pagurus/contract/model";
import type { CacheReport } from "@pagurus/contract/session/receipt";
import type { ToolSpec } from "@pagurus/contract/harness/tool";
import type { HttpAnswer, HttpRequest } from "./http-post.ts";
import type { Secret } from "./secret.ts";

/** A model with everything that a call needs. Safe to print: the secrets print as `[secret]`. */
export interface ResolvedModel {
  info: ModelInfo;
  /** Without a slash at its end; empty for the offline model. */
  baseUrl: string;
  headers: Secret<Readonly<Record<string, string>>>;
  /** Absent where the endpoint needs no key. */
  apiKey?: Secret<string>;
  /** The endpoint diagnoses cache misses, where its protocol has a member for that. */
  diagnosesCache?: boolean;
  /** Ids known at the provider, for the error about an unknown one. */
  knownIds?: readonly string[];
  /** Origin of the key (`OPENAI_API_KEY`, `models.providers.x.apiKey`), for messages about it. */
  keySource?: string;
}

export interface RetryOptions {
  /** Total calls, including the first. Default 5, unlimited where `maxElapsedMs` is set. */
  attempts?: number;
  /** Pause before the second call; doubles from there. Default 500 ms. */
  baseMs?: number;
  /** Maximum own backoff; a server's `retry-after` may ask for more. Default 60,000 ms. */
  maxMs?: number;
  /** Time limit of failed calls and pauses together, including a server's `retry-after`. Default 300,000 ms. */
  maxElapsedMs?: number;
  /** What sets `maxElapsedMs`, for messages. Default `agents.defaults.retry.maxElapsedSeconds`. */
  limit?: string;
}

/** Limits of one answer. */
export interface AnswerLimits {
  /** Maximum decoded bytes of one answer, including events. Default 128 MiB. */
  bytes: number;
  /** Maximum decoded bytes of one stream event. Default 16 MiB. */
  eventBytes: number;
  /** Timeout without a byte, ms; 2.5 times as long before the first one. Default 120,000. */
  silenceMs: number;
  /** Timeout without new content, ms, whatever bytes arrive meanwhile. Default 600,000. */
  idleMs: number;
}

export type ThinkingLevel = "off" | "low" | "medium" | "high";

/** Who a call is for. */
export interface CallOwner {
  agentId: string;
  sessionKey: string;
  sessionId: string;
  turnId: string;
}

/** Follows the HTTP requests of a call byte for byte, one after the other. No method throws. */
export interface CallObserver {
  /** A request is posted; another one after it is a retry. Its headers contain the key. */
  sent(request: HttpRequest): void;
  answered(answer: Pick<HttpAnswer, "status" | "rawHeaders">): void;
  chunk(bytes: Uint8Array): void;
  /** The last request is over. Resolves when what was observed is kept. */
  ended(error?: string): Promise<void>;
}

/** Form that an answer has to have. */
export interface ResponseFormat {
  /** Absent: any JSON object. */
  schema?: Readonly<Record<string, unknown>>;
  name?: string;
  description?: string;
  /** The provider enforces every detail of the schema, and refuses one that it cannot enforce. Default false. */
  strict?: boolean;
}

/**
 * Shape of the answer that the caller asks for. An absent member is the provider's default. A protocol without a counterpart ignores
 * the member; `unsupportedShape` names those.
 */
export interface AnswerShape {
  /** Default "auto". `{ name }`: that tool is called. */
  toolChoice?: "auto" | "required" | "none" | { name: string };
  /** False: at most one call in an answer. A protocol without a field for that may answer with more, which the caller has to drop. */
  parallelToolCalls?: boolean;
  responseFormat?: ResponseFormat;
  /** Texts that end the answer before they are written. */
  stop?: readonly string[];
  /** A finer effort than `thinking` has; overrides it. Ignored for models that do not reason. */
  reasoningEffort?: "minimal" | "xhigh";
  verbosity?: "low" | "medium" | "high";
}

export interface ModelRequest extends AnswerShape {
  /** For an observer; absent for a call outside a turn. */
  owner?: CallOwner;
  observer?: CallObserver | undefined;
  /** Empty: no system message. */
  system: string;
  messages: readonly AgentMessage[];
  tools: readonly ToolSpec[];
  /** Default: the provider's own; where the protocol requires one (Anthropic), the model's, at most 32,000. */
  maxOutputTokens?: number;
  /** Absent: the provider's default. Ignored for models that do not reason. */
  thinking?: ThinkingLevel;
  /** The session id: OpenAI routes requests with the same key to the same prompt cache. */
  cacheKey?: string;
  /**
   * The provider's id of its answer to the request before, for its diagnosis of cache misses; null: not known. Absent: no diagnosis is
   * requested.
   */
  previousResponseId?: string | null;
  /** Number of leading messages shared with later requests; Anthropic's history mark goes there. */
  stableCount?: number;
  signal: AbortSignal;
  /** Called when a request is sent and the wait for its answer begins. Must not throw. */
  onSent?: (() => void) | undefined;
  /** Called with each piece of a tool call, the first before its arguments are complete. Must not throw. */
  onCall?: (() => void) | undefined;
  retry?: RetryOptions;
  /** Limits of one answer; absent ones have their default. */
  limits?: Partial<AnswerLimits>;
}

export type ModelPart =
  | { type: "text"; delta: string }
  | { type: "thinking"; delta: string }
  /** Call number `attempt` failed; the next one follows in `delayMs`. Earlier parts are void: start over. */
  | { type: "retry"; attempt: number; delayMs: number; reason: string }
  /** The last part of every answer. */
  | {
      type: "finish";
      message: AssistantMessage;
      cache?: CacheReport;
      /** Things that the answer carried and the message does not have, each as a noun phrase. */
      degraded?: readonly string[];
    };
