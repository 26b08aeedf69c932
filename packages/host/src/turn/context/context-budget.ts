import type { AgentMessage } from "@pagurus/contract/message";
import { readSummary } from "@pagurus/contract/engine/summary";
import { reservedTokens, type CompactionFlags } from "@pagurus/core/compaction/policy";
import { DEFAULT_TOOL_RESULT_MAX_CHARS } from "@pagurus/core/config/defaults";
import type { AgentHost } from "../agent/agent-host.ts";

/**
 * Tokens for history and live turn: the window minus the reserve for the answer and the fixed parts (system prompt, tools). The same for a
 * turn, a preview, `status` and `/compact`, before and after a reload of the configuration.
 */
export function budgetFor(
  { config }: Pick<AgentHost, "config">,
  window: number,
  fixedTokens: number,
  flags: CompactionFlags,
): number {
  const reserve = reservedTokens(window, config.agents?.defaults?.compaction, flags);
  return Math.max(0, window - reserve - fixedTokens);
}

/** Characters of one tool result in the smallest window. */
const LEAST_RESULT_CHARS = 2_000;

/**
 * Characters of one tool result that are sent. The default is at most one per token of the window, about a quarter of it, and at most three
 * per two tokens of the budget when instructions and tools take much of it: a single file read must not fill a small model.
 */
export function toolResultLimit(host: AgentHost, window: number, tokenBudget: number): number {
  const rest = Math.max(LEAST_RESULT_CHARS, Math.floor(tokenBudget * 1.5));
  const configured = host.config.agents?.defaults?.toolResultMaxChars ?? DEFAULT_TOOL_RESULT_MAX_CHARS;
  return configured === DEFAULT_TOOL_RESULT_MAX_CHARS ? Math.min(configured, window, rest) : configured;
}

/**
 * The newest part of a history that fits, starting at a user message, with the leading summary (if any) and the input before that. Fallback
 * when an engine's answer cannot be used. `own`: number of leading messages of the engine's, also kept when they fit.
 */
export function fitHistory(
  history: readonly AgentMessage[],
  budget: number,
  tokens: (message: AgentMessage) => number,
  own = 0,
): AgentMessage[] {
  const sumOf = (messages: readonly AgentMessage[]): number =>
    messages.reduce((sum, message) => sum + tokens(message), 0);
  // After a split turn its input comes before the summary.
  const summaryAt = [0, 1].find((index) => isSummary(history[index]));
  const ours = summaryAt === undefined ? 0 : summaryAt + 1;
  const first = history.slice(0, Math.max(own, ours));
  const head = sumOf(first) <= budget ? first : history.slice(0, ours);
  let left = budget - sumOf(head);
  let start = history.length;
  for (let index = history.length - 1; index >= head.length; index--) {
    const message = history[index];
    if (!message) break;
    left -= tokens(message);
    if (left < 0) break;
    if (message.role === "user") start = index;
  }
  return [...head, ...history.slice(start)];
}

function isSummary(message: AgentMessage | undefined): boolean {
  if (message?.role !== "user") return false;
  const text = typeof message.content === "string" ? message.content : message.content[0];
  if (typeof text === "string") return readSummary(text) !== undefined;
  return text?.type === "text" && readSummary(text.text) !== undefined;
}
