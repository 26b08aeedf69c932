/** What the host knows of a model, and the small completion call that engines and plugins get. */
import type { StopReason, Usage } from "./message.ts";
export type ModelApi = "openai-responses" | "openai-completions" | "anthropic-messages" | "google-generative-ai" | "offline";
/** US dollars for a million tokens. */
export interface ModelCost {
    input: number;
    output: number;
    cacheRead?: number;
    cacheWrite?: number;
}
export interface ModelInfo {
    /** `provider/model`. */
    ref: string;
    /** The ref as it was given, where that is a legacy one (`codex/gpt-5.5`), whose prefix names a runtime. */
    writtenAs?: string;
    provider: string;
    id: string;
    api: ModelApi;
    /** Tokens that input and output share. */
    contextWindow: number;
    /** Most output tokens of one call. */
    maxTokens: number;
    reasoning: boolean;
    input: readonly ("text" | "image")[];
    /** How prompt caching works at this endpoint. */
    promptCache: "none" | "automatic" | "marks";
    /** The server drops what exceeds its window without an error (Ollama by default). */
    truncatesSilently: boolean;
    cost?: ModelCost;
}
export interface LlmCompleteRequest {
    messages: {
        role: "user" | "assistant";
        content: string;
    }[];
    systemPrompt?: string;
    maxTokens?: number;
    /** Model ref; the session's model where absent. */
    model?: string;
    /** What the call is for, for receipts and costs. */
    purpose?: string;
    /** How much the model should think first, where it can; its own default where absent. */
    reasoning?: "off" | "low" | "medium" | "high";
    signal?: AbortSignal;
}
export interface LlmCompleteResult {
    text: string;
    provider: string;
    model: string;
    agentId: string;
    usage?: Usage;
    /** `length`: the text is cut at `maxTokens`. */
    stopReason?: StopReason;
}
/** Throws `model_*` errors. Deadline: the caller's signal, else 180 s. */
export type LlmComplete = (request: LlmCompleteRequest) => Promise<LlmCompleteResult>;
