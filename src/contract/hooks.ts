/**
 * Hooks: what a plugin may watch or change, with payload, result, deadline and failure rule of each.
 * `HOOK_RULES` is the table the host obeys; the comments end with the contract sentence.
 */
import type { AgentMessage } from "./message.ts";
import type { ToolOutcome } from "./tool.ts";

export interface HookContext {
  sessionKey: string;
  sessionId: string;
  agentId: string;
  turnId?: string;
}

export interface HookMap {
  /** Before each assembled context goes to a model or harness. May throw: skipped with a warning; deadline 15 s;
   * safe result: undefined. */
  before_prompt_build: {
    payload: { prompt: string; system: string; messages: readonly AgentMessage[] };
    result: { prependSystemContext?: string; appendSystemContext?: string } | undefined;
  };
  /** Before a user's input is admitted. A throw or the deadline (15 s) blocks the input: a gate fails closed. */
  user_prompt: {
    payload: { prompt: string };
    result: { block: true; reason: string } | undefined;
  };
  /** Before a host tool runs. A throw or the deadline (15 s) blocks the call: a gate fails closed. */
  before_tool_call: {
    payload: { toolCallId: string; toolName: string; params: Record<string, unknown> };
    result: { block?: boolean; blockReason?: string; params?: Record<string, unknown> } | undefined;
  };
  /** After a host tool has run. May throw: warned; deadline 15 s; the outcome stands. */
  after_tool_call: {
    payload: {
      toolCallId: string;
      toolName: string;
      params: Record<string, unknown>;
      outcome: ToolOutcome;
      durationMs: number;
    };
    result: undefined;
  };
  /** Before a compaction of any lane. May throw: warned; deadline 15 s; the compaction goes on. */
  before_compaction: { payload: { lane: string; trigger: string; tokensBefore: number }; result: undefined };
  /** After a compaction of any lane. May throw: warned; deadline 15 s; the compaction stands. */
  after_compaction: {
    payload: { lane: string; trigger: string; tokensBefore: number; tokensAfter: number };
    result: undefined;
  };
  /** In-attempt lane: may cancel or supply the summary; the last truthy result wins. A throw or the deadline
   * (180 s) leaves the default compaction. */
  session_before_compact: {
    payload: SessionBeforeCompact;
    result:
      | {
          /** Ends the compaction; later handlers are not asked. */
          cancel?: boolean;
          compaction?: { summary: string; firstKeptEntryId: string; tokensBefore: number; details?: unknown };
        }
      | undefined;
  };
  /** A session was opened for the first time in this process. May throw: warned; deadline 15 s. */
  session_start: { payload: { resumed: boolean }; result: undefined };
  /** Before `/reset` or `/new` ends a generation. May throw: warned; deadline 15 s; the reset goes on. */
  before_reset: { payload: { reason: "new" | "reset" }; result: undefined };
  /** A generation ended. May throw: warned; deadline 15 s. */
  session_end: {
    payload: { reason: "new" | "reset" | "deleted" | "shutdown" | "rotated"; nextSessionId?: string };
    result: undefined;
  };
  /** The host is ready. May throw: warned; deadline 15 s. */
  gateway_start: { payload: Record<string, never>; result: undefined };
  /** The host ends. May throw: warned; deadline 10 s. */
  gateway_stop: { payload: Record<string, never>; result: undefined };
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

export type HookName = keyof HookMap;
export type HookHandler<K extends HookName> = (
  payload: HookMap[K]["payload"],
  context: HookContext,
) => HookMap[K]["result"] | void | Promise<HookMap[K]["result"] | void>;

/** Deadline in ms, and what a throw or a missed deadline means. */
export const HOOK_RULES: { readonly [K in HookName]: { deadlineMs: number; onFailure: "warn" | "block" } } = {
  before_prompt_build: { deadlineMs: 15_000, onFailure: "warn" },
  user_prompt: { deadlineMs: 15_000, onFailure: "block" },
  before_tool_call: { deadlineMs: 15_000, onFailure: "block" },
  after_tool_call: { deadlineMs: 15_000, onFailure: "warn" },
  before_compaction: { deadlineMs: 15_000, onFailure: "warn" },
  after_compaction: { deadlineMs: 15_000, onFailure: "warn" },
  session_before_compact: { deadlineMs: 180_000, onFailure: "warn" },
  session_start: { deadlineMs: 15_000, onFailure: "warn" },
  before_reset: { deadlineMs: 15_000, onFailure: "warn" },
  session_end: { deadlineMs: 15_000, onFailure: "warn" },
  gateway_start: { deadlineMs: 15_000, onFailure: "warn" },
  gateway_stop: { deadlineMs: 10_000, onFailure: "warn" },
};
