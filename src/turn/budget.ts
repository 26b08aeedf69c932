import type { AgentMessage } from "../contract/message.ts";
import { readSummary } from "../contract/summary.ts";
import { reservedTokens, type CompactionFlags } from "../compaction/policy.ts";
import type { CompactionConfig } from "../config/types.ts";

/**
 * Tokens that history and live turn may take: the window less what is kept free for the answer and less the fixed
 * parts (system prompt, tools).
 */
export function contextBudget(
  window: number,
  fixedTokens: number,
  compaction: CompactionConfig | undefined,
  flags: CompactionFlags,
): number {
  return Math.max(0, window - reservedTokens(window, compaction, flags) - fixedTokens);
}

/**
 * The newest part of a history that fits, from a user message on, with the summary it starts with (if any) and the
 * input before that. What the
 * host sends when an engine's answer cannot be used.
 */
export function fitHistory(
  history: readonly AgentMessage[],
  budget: number,
  tokens: (message: AgentMessage) => number,
): AgentMessage[] {
  // Behind a turn that was split its input stands before the summary.
  const summaryAt = [0, 1].find((index) => isSummary(history[index]));
  const head = history.slice(0, summaryAt === undefined ? 0 : summaryAt + 1);
  let left = budget - head.reduce((sum, message) => sum + tokens(message), 0);
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
