/** Parameters of an engine's members, as a host makes them. */
import type { CommitTurnParams, TranscriptEntryAnchor } from "@pagurus/contract/engine/engine-params";
import { PagurusError } from "@pagurus/contract/errors";
import type { AgentMessage } from "@pagurus/contract/message";
import type { LlmComplete } from "@pagurus/contract/model";
import type { RuntimeContext, SessionTarget } from "@pagurus/contract/engine/runtime-context";
import { countTokens } from "@pagurus/core/tokens/message-tokens";
import type { ReplayTranscript } from "./replay-transcript.ts";
import { defined } from "@pagurus/core/data/defined";

export interface EngineOptions {
  /** Tokens of the model's window. */
  window: number;
  /** The host's configuration, as `runtimeContext.config`. */
  config?: unknown;
  /** Tokens of a whole prompt from which the host requests a compaction; default: what the window leaves. */
  trigger?: number;
  /** Names of the tools that a turn has; default: none. */
  tools?: readonly string[];
  /** Tokens of system prompt and tools; default: those of the recorded sessions. */
  staticTokens?: number;
  /** Answers the engine's own model calls. Without it there is no model, and the provider is `offline`. */
  complete?: LlmComplete;
}

const refuseModel: LlmComplete = () =>
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
      ...defined({ turnId }),
      contextWindow: window,
      tokenBudget,
      ...defined({ currentTokenCount: lastInput }),
      tokens: (value) => Math.ceil(countTokens(value) * factor),
      llm: { complete: complete ?? refuseModel },
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
