/** Decides whether a new epoch is due; `renew-epoch.ts` drafts it, and is loaded then. */
import type { AgentMessage } from "@pagurus/contract/message";
import type { Volatile } from "./epoch.ts";
import type { LosslessSession } from "./lossless-session.ts";
import { sentTokens } from "./session-in-memory.ts";

export interface Parts {
  /** Messages before the live turn. */
  history: AgentMessage[];
  live: AgentMessage[];
  /** Index of the view's first item of the live turn. */
  liveStart: number;
}

interface Size {
  /** Corrected tokens of the context. */
  tokens: number;
  /** Corrected tokens of the blocks of recalled passages, beside them. */
  recalled: number;
  budget: number;
  factor: number;
  begins: boolean;
}

export function total(messages: readonly AgentMessage[], maxChars: number): number {
  let tokens = 0;
  for (const message of messages) tokens += sentTokens(message, maxChars);
  return tokens;
}

/** Tokens of blocks as sent. */
export function blockTokens({ view }: LosslessSession, blocks: readonly Volatile[]): number {
  return total(
    blocks.map(({ message }) => message),
    view.maxChars,
  );
}

/** Whether a new epoch is due, and why. `must`: the context is incomplete or over the budget. */
export async function dueOf(
  session: LosslessSession,
  size: Size,
): Promise<"no" | "must" | "trigger" | "cold"> {
  const { view } = session;
  const { tokens, recalled, budget, factor } = size;
  const { trigger, minimumGain } = session.shares(budget);
  if (!view.complete || tokens + recalled > budget) return "must";
  const grown = tokens - (view.epoch?.startTokens ?? 0) * factor;
  if (tokens > trigger && grown >= minimumGain) return "trigger";
  if (!size.begins || !hasColdEpoch(session, Date.now())) return "no";
  const { hasBetterSummaries } = await import("./better-summaries.ts");
  return hasBetterSummaries(session) ? "cold" : "no";
}

/** There is an epoch, and the provider's cache of the present bytes has expired. */
function hasColdEpoch({ view, context }: LosslessSession, now: number): boolean {
  const expiresAt = context?.promptCache?.expiresAt;
  return view.epoch !== undefined && expiresAt !== undefined && expiresAt <= now;
}
