/** Adapts OpenClaw's middleware of tool results, which sees a call when its tool has run, to the host's middleware around it. */
import { PagurusError } from "@pagurus/contract/errors";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import type { SurroundedCall, ToolMiddleware } from "@pagurus/contract/host/tool-middleware";
import { isRecord } from "@pagurus/core/data/record-fields";

/** OpenClaw knows two runtimes; all but Codex run the host's tools as its own loop does. */
type Runtime = "openclaw" | "codex";

export type ResultMiddleware = (event: Record<string, unknown>, context: Record<string, unknown>) => unknown;

export interface ResultMiddlewareOptions {
  /** Names of tools. Absent: all. */
  matcher?: readonly string[];
  /** Absent: both. */
  runtimes?: readonly Runtime[];
}

/** Throws `engine_contract` for a handler that is no function. */
export function resultMiddleware(
  handler: ResultMiddleware,
  { runtimes }: ResultMiddlewareOptions = {},
): ToolMiddleware {
  if (typeof handler !== "function")
    throw new PagurusError(
      "engine_contract",
      "A middleware of tool results is no function; register a function.",
    );
  return async (call, next) => {
    const outcome = await next();
    const runtime: Runtime = call.runtime === "codex" ? "codex" : "openclaw";
    if (runtimes && !runtimes.includes(runtime)) return outcome;
    const answer = await handler(toolEvent(call, outcome), callContext(call, runtime));
    return isRecord(answer) && isRecord(answer["result"])
      ? replacedOutcome(outcome, answer["result"])
      : outcome;
  };
}

function toolEvent(
  { toolCallId, toolName, params, turnId, cwd }: SurroundedCall,
  { content, details, isError }: ToolOutcome,
): Record<string, unknown> {
  return { turnId, toolCallId, toolName, args: params, cwd, isError, result: { content, details } };
}

function callContext(
  { agentId, sessionId, sessionKey, turnId }: SurroundedCall,
  runtime: Runtime,
): Record<string, unknown> {
  return { runtime, agentId, sessionId, sessionKey, runId: turnId };
}

/** OpenClaw's results have no `isError`: the outcome keeps its own. */
function replacedOutcome(outcome: ToolOutcome, { content, details }: Record<string, unknown>): ToolOutcome {
  return {
    ...outcome,
    ...(Array.isArray(content) && { content: content as ToolOutcome["content"] }),
    ...(isRecord(details) && { details }),
  };
}
