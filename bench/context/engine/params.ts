/** Parameters of an engine's members, as a host makes them. */
import type {
  CommitTurnParams,
  TranscriptEntryAnchor,
} from "../../../packages/contract/src/engine/engine-params.ts";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { LlmComplete } from "../../../packages/contract/src/model.ts";
import type { RuntimeContext, SessionTarget } from "../../../packages/contract/src/engine/runtime-context.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { messagesTokens, messageTokens } from "../../../packages/core/src/tokens/message-tokens.ts";
import type { ReplayTranscript } from "./transcript.ts";

export interface EngineOptions {
  /** Tokens of the model's window. */
  window: number;
  /** The host's configuration, as `runtimeContext.config`. */
  config?: unknown;
  /** Tokens of a whole prompt from which the host requests a compaction; default: what the window leaves. */
  trigger?: number;
  /** Answers the engine's own model calls. Without it there is no model, and the provider is `offline`. */
  complete?: LlmComplete;
}

const noModel: LlmComplete = () =>
  Promise.reject(new PagurusError("model_unavailable", "The replay has no model; summaries are extractive."));

interface Setting {
  options: EngineOptions;
  /** Provider tokens for each estimated one. */
  factor: number;
  tokenBudget: number;
  transcript: ReplayTranscript;
  dir: string;
}

export class EngineParams {
  readonly #setting: Setting;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  ids(): { sessionId: string; sessionKey: string } {
    return { sessionId: "replay", sessionKey: "main" };
  }

  files(): { sessionFile: string; sessionTarget: SessionTarget } {
    return { sessionFile: this.#setting.transcript.file, sessionTarget: this.#target() };
  }

  #target(): SessionTarget {
    return { agentId: "main", ...this.ids(), storePath: this.#setting.dir };
  }

  /** `lastInput`: tokens of the newest prompt, as a provider would have reported them. */
  base(
    turnId?: string,
    lastInput?: number,
  ): { sessionId: string; sessionKey: string; runtimeContext: RuntimeContext } {
    const { options, factor, tokenBudget, transcript, dir } = this.#setting;
    const { window, config = {}, complete } = options;
    const provider = complete ? "replay" : "offline";
    const runtimeContext: RuntimeContext = {
      config,
      provider,
      model: `${provider}/replay`,
      modelId: "replay",
      agentId: "main",
      agentHarnessId: "embedded",
      cwd: dir,
      ...(turnId === undefined ? {} : { turnId }),
      contextWindow: window,
      tokenBudget,
      ...(lastInput === undefined ? {} : { currentTokenCount: lastInput }),
      tokens: (value) => Math.ceil(countTokens(value) * factor),
      llm: { complete: complete ?? noModel },
      // Work between turns, where there is a model for it.
      allowDeferredCompactionExecution: complete !== undefined,
      transcript,
    };
    return { ...this.ids(), runtimeContext };
  }

  commit(turnId: string, turn: AgentMessage[], lastInput?: number): CommitTurnParams {
    const sessionTarget = this.#target();
    const anchor = (entryId = turnId): TranscriptEntryAnchor => {
      const { rawSeq, parent, position } = this.#setting.transcript.place(entryId);
      return {
        ...sessionTarget,
        generation: "1",
        entryId,
        rawSeq,
        effectiveParentId: parent,
        activeMessagePosition: position,
        idempotencyKey: turnId,
      };
    };
    return {
      ...this.base(turnId, lastInput),
      sessionTarget,
      advancementKey: turnId,
      admission: { ...anchor(turn[0]?.entryId), logicalTurnId: turnId, role: "user" },
      terminal: anchor(turn.at(-1)?.entryId),
      messages: turn,
    };
  }
}

function countTokens(value: string | AgentMessage | readonly AgentMessage[]): number {
  if (typeof value === "string") return estimateTokens(value);
  return Array.isArray(value)
    ? messagesTokens(value as readonly AgentMessage[])
    : messageTokens(value as AgentMessage);
}
