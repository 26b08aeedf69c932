import { PagurusError } from "@pagurus/contract/errors";
import type { AgentMessage, StopReason, Usage } from "@pagurus/contract/message";
import { streamModel } from "./model-stream.ts";
import type { ResolvedModel, ThinkingLevel } from "./provider-types.ts";
import { defined } from "../data/defined.ts";

export interface CompletionRequest {
  messages: readonly { role: "user" | "assistant"; content: string }[];
  systemPrompt?: string;
  maxTokens?: number;
  thinking?: ThinkingLevel;
  signal: AbortSignal;
}

export interface Completion {
  text: string;
  usage?: Usage;
  /** `length`: the text is cut at `maxTokens`. */
  stopReason: StopReason;
}

/** The model without cache marks: the prompt is not repeated, so a cache write would cost more and never be read. */
function uncached(model: ResolvedModel): ResolvedModel {
  return { ...model, info: { ...model.info, promptCache: "none" } };
}

/** One complete answer without tools, for summaries and plugins. Throws what `streamModel` throws. */
export async function completeOnce(model: ResolvedModel, request: CompletionRequest): Promise<Completion> {
  const messages = request.messages.map(({ role, content }): AgentMessage =>
    role === "user" ? { role, content } : { role, content: [{ type: "text", text: content }] },
  );
  const { maxTokens, thinking } = request;
  const parts = streamModel(uncached(model), {
    system: request.systemPrompt ?? "",
    messages,
    tools: [],
    signal: request.signal,
    ...defined({ maxOutputTokens: maxTokens, thinking }),
  });
  for await (const part of parts) {
    if (part.type !== "finish") continue;
    const { content, usage, stopReason } = part.message;
    const text = content.map((piece) => (piece.type === "text" ? piece.text : "")).join("");
    return { text, stopReason: stopReason ?? "stop", ...defined({ usage }) };
  }
  throw new PagurusError("internal", "a model's stream ended without its finish part");
}
