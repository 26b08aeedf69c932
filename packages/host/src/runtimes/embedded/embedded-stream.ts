import type { AssembledContext, HarnessTurn } from "@pagurus/contract/harness/harness";
import type { AssistantMessage } from "@pagurus/contract/message";
import type { CacheReport } from "@pagurus/contract/session/receipt";
import type { ModelPart, ModelRequest } from "@pagurus/core/model/provider-types";
import type { ModelInfo } from "@pagurus/contract/model";
import { repeatedTextTokens } from "@pagurus/core/tokens/repeated-text";
import { lostParts } from "@pagurus/core/data/lost-parts";
import { defined } from "@pagurus/core/data/defined";

export type CallModel = (model: ModelInfo, request: ModelRequest) => AsyncIterable<ModelPart>;

/** Minimum of tokens reserved for an answer. */
const MIN_OUTPUT_TOKENS = 1_024;

function outputLimit(turn: HarnessTurn, context: AssembledContext): number {
  const fixed = repeatedTextTokens(context.system) + repeatedTextTokens(JSON.stringify(turn.tools.specs));
  const free = turn.model.contextWindow - Math.ceil((context.estimatedTokens + fixed) * 1.1);
  const paid = context.maxOutputTokens ?? Infinity;
  return Math.min(turn.model.maxTokens, Math.max(MIN_OUTPUT_TOKENS, free), paid);
}

function hasUsedTools({ messages }: AssembledContext): boolean {
  return messages.some(({ role }) => role === "toolResult");
}

export interface StreamedAnswer {
  message: AssistantMessage;
  /** The turn was aborted while the answer streamed; `message` holds what had arrived. */
  aborted: boolean;
  cache?: CacheReport;
}

/**
 * One model call: its parts become events, its last part the message; `progress.shown` is set with the first text. Throws the
 * model layer's errors, but an abort returns the text that had arrived.
 */
export async function streamAnswer(
  turn: HarnessTurn,
  context: AssembledContext,
  callModel: CallModel,
  progress: { shown: boolean },
): Promise<StreamedAnswer> {
  let text = "";
  try {
    const { hostAgentId: agentId, sessionKey, sessionId, turnId } = turn;
    const parts = callModel(turn.model, {
      owner: { agentId, sessionKey, sessionId, turnId },
      system: context.system,
      messages: context.messages,
      tools: turn.tools.specs,
      maxOutputTokens: outputLimit(turn, context),
      ...defined({ thinking: turn.thinking, retry: turn.retry }),
      cacheKey: turn.sessionId,
      previousResponseId: context.previousResponseId ?? null,
      stableCount: context.historyCount,
      // Until a conversation has used a tool, its answers often need none, and the preparation is a tenth of a short run.
      ...(hasUsedTools(context) ? { onSent: () => turn.tools.expect?.() } : {}),
      onCall: () => turn.tools.expect?.(),
      signal: turn.signal,
    });
    for await (const part of parts) {
      switch (part.type) {
        case "text":
          text += part.delta;
          progress.shown = true;
          await turn.io.emit({ type: "text.delta", delta: part.delta });
          break;
        case "thinking":
          await turn.io.emit({ type: "thinking.delta", delta: part.delta });
          break;
        case "retry":
          text = "";
          await turn.io.emit({
            type: "model.retry",
            attempt: part.attempt,
            delayMs: part.delayMs,
            reason: part.reason,
          });
          break;
        case "finish":
          if (part.degraded) turn.io.degrade("answer", lostParts(part.degraded));
          return { message: part.message, aborted: false, ...defined({ cache: part.cache }) };
      }
    }
  } catch (error) {
    if (!turn.signal.aborted) throw error;
  }
  const message: AssistantMessage = {
    role: "assistant",
    content: text === "" ? [] : [{ type: "text", text }],
    provider: turn.model.provider,
    model: turn.model.id,
    stopReason: "aborted",
    timestamp: Date.now(),
  };
  return { message, aborted: true };
}
