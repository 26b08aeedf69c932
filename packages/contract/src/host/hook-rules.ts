/** The rules of each hook, as its comment in `hooks.ts` says them. */
import type { HookName } from "./hooks.ts";

/** Deadline in ms, and what a throw or a missed deadline means. */
export const HOOK_RULES: { readonly [K in HookName]: { deadlineMs: number; onFailure: "warn" | "block" } } = {
  before_model_resolve: { deadlineMs: 15_000, onFailure: "warn" },
  before_prompt_build: { deadlineMs: 15_000, onFailure: "warn" },
  user_prompt: { deadlineMs: 15_000, onFailure: "block" },
  message_received: { deadlineMs: 15_000, onFailure: "warn" },
  message_sending: { deadlineMs: 15_000, onFailure: "block" },
  before_tool_call: { deadlineMs: 15_000, onFailure: "block" },
  after_tool_call: { deadlineMs: 15_000, onFailure: "warn" },
  tool_result_persist: { deadlineMs: 15_000, onFailure: "warn" },
  before_compaction: { deadlineMs: 15_000, onFailure: "warn" },
  after_compaction: { deadlineMs: 15_000, onFailure: "warn" },
  session_before_compact: { deadlineMs: 180_000, onFailure: "warn" },
  session_start: { deadlineMs: 15_000, onFailure: "warn" },
  before_reset: { deadlineMs: 15_000, onFailure: "warn" },
  session_end: { deadlineMs: 15_000, onFailure: "warn" },
  llm_output: { deadlineMs: 15_000, onFailure: "warn" },
  before_agent_finalize: { deadlineMs: 15_000, onFailure: "warn" },
  agent_end: { deadlineMs: 15_000, onFailure: "warn" },
  subagent_spawned: { deadlineMs: 5_000, onFailure: "warn" },
  subagent_ended: { deadlineMs: 5_000, onFailure: "warn" },
  gateway_start: { deadlineMs: 15_000, onFailure: "warn" },
  gateway_stop: { deadlineMs: 10_000, onFailure: "warn" },
};
