/** Hooks: what a plugin may watch or change, with payload, result, deadline and failure rule of each.
 * `HOOK_RULES` (`hook-rules.ts`) is the table that the host follows; each comment ends with the contract sentence. */
import type { AgentMessage, Usage } from "../message.ts";
import type { ToolOutcome } from "../harness/tool.ts";
import type { OutgoingAnswer } from "./delivery.ts";
import type {
  AnswerDecision,
  FinishedAnswer,
  ModelOverride,
  ModelQuestion,
  SessionBeforeCompact,
} from "./hook-parts.ts";

export interface HookContext {
  sessionKey: string;
  sessionId: string;
  agentId: string;
  turnId?: string;
}

export interface HookMap {
  /** Before the model of a turn is chosen, if its caller names none. For each field the first answer counts. No fallback takes
   * over for the model. May throw: skipped with a warning; deadline 15 s; safe result: undefined. */
  before_model_resolve: {
    payload: ModelQuestion;
    result: ModelOverride | undefined;
  };
  /** Before each assembled context goes to a model or harness. May throw: skipped with a warning; deadline 15 s;
   * safe result: undefined. */
  before_prompt_build: {
    payload: { prompt: string; system: string; messages: readonly AgentMessage[] };
    result:
      | {
          prependSystemContext?: string;
          appendSystemContext?: string;
          /** The tools that are left to the turn; of several answers those that all name. Absent: no change. */
          toolsAllow?: string[];
        }
      | undefined;
  };
  /** Before a user's input is admitted. A throw or the deadline (15 s) blocks the input: the gate fails closed. */
  user_prompt: {
    payload: { prompt: string };
    result: { block: true; reason: string } | undefined;
  };
  /** An input was admitted and its turn begins. May throw: warned; deadline 15 s; the turn continues. */
  message_received: { payload: { content: string; timestamp: number }; result: undefined };
  /** Before a channel delivers an answer, with its whole text; each handler gets the text of the one before. Nothing of the answer is
   * shown earlier. A throw or the deadline (15 s) blocks the answer: the gate fails closed. */
  message_sending: {
    payload: OutgoingAnswer;
    result: { content?: string; cancel?: boolean; cancelReason?: string } | undefined;
  };
  /** Before a host tool runs. A throw or the deadline (15 s) blocks the call: the gate fails closed. */
  before_tool_call: {
    payload: { toolCallId: string; toolName: string; params: Record<string, unknown> };
    result: { block?: boolean; blockReason?: string; params?: Record<string, unknown> } | undefined;
  };
  /** After a host tool has run. May throw: warned; deadline 15 s; the outcome is kept. */
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
  /** A host tool's result before it is recorded and sent; each handler gets the previous handler's answer. May throw: warned;
   * deadline 15 s; the result is kept. */
  tool_result_persist: {
    payload: { toolCallId: string; toolName: string; outcome: ToolOutcome };
    result: { outcome?: ToolOutcome } | undefined;
  };
  /** Before a compaction of any lane. May throw: warned; deadline 15 s; the compaction continues. */
  before_compaction: { payload: { lane: string; trigger: string; tokensBefore: number }; result: undefined };
  /** After a compaction of any lane. May throw: warned; deadline 15 s; the compaction is kept. */
  after_compaction: {
    payload: { lane: string; trigger: string; tokensBefore: number; tokensAfter: number };
    result: undefined;
  };
  /** In-attempt lane: may cancel or supply the summary; the last truthy result wins. A throw or the deadline
   * (180 s) falls back to the default compaction. */
  session_before_compact: {
    payload: SessionBeforeCompact;
    result:
      | {
          /** Cancels the compaction; later handlers are not called. */
          cancel?: boolean;
          compaction?: { summary: string; firstKeptEntryId: string; tokensBefore: number; details?: unknown };
        }
      | undefined;
  };
  /** A session was opened for the first time in this process. May throw: warned; deadline 15 s. */
  session_start: { payload: { resumed: boolean }; result: undefined };
  /** Before `/reset` or `/new` ends a generation. May throw: warned; deadline 15 s; the reset continues. */
  before_reset: { payload: { reason: "new" | "reset" }; result: undefined };
  /** A generation ended, or is no longer open in this process (`idle`, `shutdown`). May throw: warned; deadline 15 s. */
  session_end: {
    payload: {
      reason: "new" | "reset" | "deleted" | "idle" | "shutdown" | "rotated";
      nextSessionId?: string;
    };
    result: undefined;
  };
  /** The turn's model answers, when the turn has ended. May throw: warned; deadline 15 s. */
  llm_output: {
    payload: {
      provider: string;
      model: string;
      prompt: string;
      assistantTexts: readonly string[];
      usage: Usage;
    };
    result: undefined;
  };
  /** The model has answered and the turn would end; `messages` are its own. `revise` asks for another answer, at most three times a turn;
   * `finalize` of any handler ends it. The answer before stays in the transcript. May throw: skipped with a warning; deadline 15 s; safe
   * result: undefined. */
  before_agent_finalize: {
    payload: FinishedAnswer;
    result: AnswerDecision | undefined;
  };
  /** A turn has ended; `messages` are its own, the input first. May throw: warned; deadline 15 s. */
  agent_end: {
    payload: { messages: readonly AgentMessage[]; success: boolean; error?: string; durationMs: number };
    result: undefined;
  };
  /** A child session begins its turn. May throw: warned; deadline 5 s; the child runs. */
  subagent_spawned: { payload: { childSessionKey: string; parentSessionKey: string }; result: undefined };
  /** A child session has ended. May throw: warned; deadline 5 s. */
  subagent_ended: {
    payload: { childSessionKey: string; reason: string; outcome: string };
    result: undefined;
  };
  /** The host is ready. May throw: warned; deadline 15 s. */
  gateway_start: { payload: Record<string, never>; result: undefined };
  /** The host shuts down. May throw: warned; deadline 10 s. */
  gateway_stop: { payload: Record<string, never>; result: undefined };
}

export type HookName = keyof HookMap;
export type HookHandler<K extends HookName> = (
  payload: HookMap[K]["payload"],
  context: HookContext,
) => HookMap[K]["result"] | void | Promise<HookMap[K]["result"] | void>;
