/** `llm_output` and `agent_end`: hooks of a turn that has ended. */
import { defined } from "@pagurus/core/data/defined";
import type { PagurusError } from "@pagurus/contract/errors";
import type { HarnessTurnResult } from "@pagurus/contract/harness/harness";
import type { AgentMessage } from "@pagurus/contract/message";
import { runHooks, type HookOptions } from "../guard/turn-hooks.ts";
import type { TurnState } from "../state/turn-state.ts";

export type TurnOutcome = { result: HarnessTurnResult } | { error: PagurusError };

/** Runs after the turn's commit: no handler can fail the turn. */
export async function turnEnded(state: TurnState, outcome: TurnOutcome): Promise<void> {
  const { recorder, usage, host, guard, sessionKey, sessionId, turnId, model, admitted } = state;
  const names = ["llm_output", "agent_end"] as const;
  if (names.every((name) => host.hooks.hooks(name).length === 0)) return;
  const context = { sessionKey, sessionId, agentId: host.agentId, turnId };
  const options: HookOptions = {
    logger: host.logger,
    onFailure: (reason) => guard.degrade("hook", reason),
  };
  const messages = structuredClone([...recorder.messages]);
  const { provider, id } = model;
  const assistantTexts = messages.flatMap(answerTexts);
  const output = { provider, model: id, prompt: admitted.request.prompt, assistantTexts, usage };
  if (assistantTexts.length > 0) await runHooks(host.hooks, "llm_output", output, context, options);
  const failed = "error" in outcome ? outcome.error.message : undefined;
  const aborted = "result" in outcome && outcome.result.stopReason === "aborted";
  const end = {
    messages,
    success: failed === undefined && !aborted,
    ...defined({ error: failed }),
    durationMs: Math.round(performance.now() - state.begun),
  };
  await runHooks(host.hooks, "agent_end", end, context, options);
}

/** The text of an answer; none for other messages and for tool calls alone. */
function answerTexts(message: AgentMessage): string[] {
  if (message.role !== "assistant") return [];
  const text = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return text === "" ? [] : [text];
}
