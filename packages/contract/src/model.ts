/** Model metadata of the host, and the small completion call that engines and plugins get. */
import type { StopReason, Usage } from "./message.ts";

export type ModelApi =
  | "openai-responses"
  | "openai-completions"
  | "anthropic-messages"
  | "google-generative-ai"
  | "offline";

/** US dollars per million tokens. */
export interface ModelCost {
  input: number;
  output: number;
  cacheRead?: number;
  cacheWrite?: number;
}

/** Prices of one request by other units than tokens, US dollars. A price that is absent counts nothing. */
export interface UnitCost {
  request?: number;
  /** Of one generated image. */
  image?: number;
  /** Of a minute of sound that is transcribed. */
  minute?: number;
  /** Of a million characters that are spoken. */
  millionCharacters?: number;
}

/** An API of a provider besides conversations: vectors, images, speech, transcripts. */
export type DirectSurface = "embeddings" | "images" | "speech" | "transcription";

export interface ModelInfo {
  /** `provider/model`. */
  ref: string;
  /** The ref as written, where it is a legacy one (`codex/gpt-5.5`), whose prefix names a runtime. */
  writtenAs?: string;
  provider: string;
  id: string;
  api: ModelApi;
  /** Tokens shared by input and output. */
  contextWindow: number;
  /** Maximum output tokens of one call. */
  maxTokens: number;
  reasoning: boolean;
  input: readonly ("text" | "image")[];
  /** How prompt caching works at this endpoint. */
  promptCache: "none" | "automatic" | "marks";
  /** The server drops what exceeds its window without an error (Ollama by default). */
  truncatesSilently: boolean;
  cost?: ModelCost;
  /** Direct surfaces that the model serves; it answers no conversations then. Absent: conversations alone. */
  surfaces?: readonly DirectSurface[];
  /** Prices of its surfaces. Absent: by tokens alone, with `cost`. */
  unitCost?: UnitCost;
}

export interface LlmCompleteRequest {
  messages: { role: "user" | "assistant"; content: string }[];
  systemPrompt?: string;
  maxTokens?: number;
  /** Model ref; the session's model where absent. */
  model?: string;
  /** Purpose of the call, for receipts and costs. */
  purpose?: string;
  /** Reasoning effort, where the model supports it; default: the model's own. */
  reasoning?: "off" | "low" | "medium" | "high";
  signal?: AbortSignal;
}

export interface LlmCompleteResult {
  text: string;
  provider: string;
  model: string;
  agentId: string;
  usage?: Usage;
  /** `length`: the text was cut at `maxTokens`. */
  stopReason?: StopReason;
}

/** Throws `model_*` errors. Deadline: the caller's signal, else 180 s. */
export type LlmComplete = (request: LlmCompleteRequest) => Promise<LlmCompleteResult>;
