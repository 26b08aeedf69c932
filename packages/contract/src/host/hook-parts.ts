/** Payloads and results of the hooks on a turn's model, on its answer and on a compaction inside it. */
import type { AgentMessage } from "../message.ts";

export interface ModelQuestion {
  prompt: string;
  attachments?: readonly { kind: "image"; mimeType: string }[];
}

/** The other part of the model ref stays the configured one. */
export interface ModelOverride {
  /** Id of a model of the provider, for example `gpt-5.5`. */
  modelOverride?: string;
  providerOverride?: string;
}

export interface FinishedAnswer {
  provider: string;
  model: string;
  cwd: string;
  /** The answer is a revised one. */
  stopHookActive: boolean;
  lastAssistantMessage: string;
  /** Messages of the turn, the input first. */
  messages: readonly AgentMessage[];
}

export interface AnswerDecision {
  action?: "continue" | "revise" | "finalize";
  /** Text of a revision for the model. */
  reason?: string;
  /** A revision that is asked for `maxAttempts` times at most (default 1), counted by its key or its instruction. */
  retry?: { instruction: string; idempotencyKey?: string; maxAttempts?: number };
}

export interface SessionBeforeCompact {
  preparation: {
    firstKeptEntryId: string;
    messagesToSummarize: AgentMessage[];
    turnPrefixMessages: AgentMessage[];
    isSplitTurn: boolean;
    tokensBefore: number;
    previousSummary?: string;
    fileOps: { read: string[]; written: string[]; edited: string[] };
    settings: { enabled: boolean; reserveTokens: number; keepRecentTokens: number };
  };
  branchEntries: unknown[];
  customInstructions?: string;
  signal: AbortSignal;
}
