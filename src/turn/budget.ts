import type { AgentMessage } from "../contract/message.ts";
import { readSummary } from "../contract/summary.ts";
import type { CompactionConfig } from "../config/types.ts";

const RESERVE_TOKENS_FLOOR = 20_000;

/**
 * Tokens that history and live turn may take: the window less what is kept free for the answer (at most a quarter
 * of the window) and less the fixed parts (system prompt, tools).
 */
export function contextBudget(
  window: number,
  fixedTokens: number,
  compaction: CompactionConfig | undefined,
): number {
  const wanted = Math.max(
    compaction?.reserveTokens ?? 0,
    compaction?.reserveTokensFloor ?? RESERVE_TOKENS_FLOOR,
  );
  const reserve = Math.min(wanted, Math.floor(window / 4));
  return Math.max(0, window - reserve - fixedTokens);
}

/**
 * The newest part of a history that fits, from a user message on, with the summary it starts with (if any). What the
 * host sends when an engine's answer cannot be used.
 */
export function fitHistory(
  history: readonly AgentMessage[],
  budget: number,
  tokens: (message: AgentMessage) => number,
): AgentMessage[] {
  const head = history.slice(0, isSummary(history[0]) ? 1 : 0);
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
