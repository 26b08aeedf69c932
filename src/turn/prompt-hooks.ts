import type { AssemblerOptions } from "./assemble.ts";
import type { Guard } from "./guard.ts";
import { runHooks } from "./hooks.ts";
import type { AgentHost } from "./scope.ts";

export interface PromptHookScope {
  host: AgentHost;
  guard: Guard;
  sessionKey: string;
  writer: { record: { sessionId: string } };
  turnId: string;
  signal: AbortSignal;
}

/** `before_prompt_build`, run inside the frame of `turn.assemble()`, so that hooks see what the model will receive. */
export function readPromptHooks(scope: PromptHookScope): AssemblerOptions["promptHooks"] {
  const { host, guard, sessionKey, turnId, signal } = scope;
  return async (prompt, system, messages) => {
    if (host.hooks.hooks("before_prompt_build").length === 0) return { prepend: [], append: [] };
    const { answers } = await runHooks(
      host.hooks,
      "before_prompt_build",
      { prompt, system, messages: structuredClone(messages) },
      { sessionKey, sessionId: scope.writer.record.sessionId, agentId: host.agentId, turnId },
      { signal, logger: host.logger, onFailure: (reason) => guard.degrade("hook", reason) },
    );
    return {
      prepend: answers.flatMap(({ result }) =>
        result.prependSystemContext ? [result.prependSystemContext] : [],
      ),
      append: answers.flatMap(({ result }) =>
        result.appendSystemContext ? [result.appendSystemContext] : [],
      ),
    };
  };
}
