/** A way to choose what the model sees, as the replay drives it. */
import type { AgentMessage } from "@pagurus/contract/message";
import type { ModelCall, RecordedSession } from "./recorded-session.ts";

/** Sent after the static prefix (system prompt and tools). */
export interface PromptBlocks {
  messages: readonly AgentMessage[];
  /** Precedes the system prompt, like an engine's `systemPromptAddition`. */
  addition?: string;
  /** Within an epoch each prompt begins with all of the prompt before it. A new one counts as a compaction. */
  epoch: string;
}

/** One session under a policy; calls come in order, each assembled once and settled once. */
export interface PolicyRun {
  assemble(call: ModelCall): PromptBlocks | Promise<PromptBlocks>;
  /** The call's output and the results of its tools are in the history. */
  settle(call: ModelCall): void | Promise<void>;
  close?(): Promise<void>;
}

export interface ContextPolicy {
  name: string;
  /** Maximum tokens of a prompt, the static prefix included; Infinity where the policy has no window. */
  limit: number;
  open(session: RecordedSession): PolicyRun | Promise<PolicyRun>;
}

/** Tokens of system prompt and tools of the recorded sessions, which no policy changes. */
export const STATIC_TOKENS = 26_000;
