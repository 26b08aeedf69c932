import type { AgentMessage } from "@pagurus/contract/message";
import { trimToolResult } from "@pagurus/core/compaction/trim";
import type { AgentHost } from "../agent/agent-host.ts";
import { toolResultLimit } from "./context-budget.ts";

/**
 * The messages as a request has them: large tool results are cut. Whatever counts tokens of a context counts these, so that a status line,
 * a notice and the next request agree.
 */
export function asSent(
  host: AgentHost,
  { window, tokenBudget }: { window: number; tokenBudget: number },
  messages: readonly AgentMessage[],
): AgentMessage[] {
  const limit = toolResultLimit(host, window, tokenBudget);
  return messages.map((message) =>
    message.role === "toolResult" ? trimToolResult(message, limit).message : message,
  );
}
