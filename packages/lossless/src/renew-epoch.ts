/** Decides when a new epoch is due, and how small it has to be. Everything before the live turn may be removed. */
import type { AgentMessage } from "@pagurus/contract/message";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { planCut } from "./head/epoch-cut.ts";
import { headMessage, type Volatile } from "./epoch.ts";
import { PreparedLeaves } from "./summary/prepared-leaves.ts";
import { isGap, nodeId } from "./summary/summary-nodes.ts";
import { draftEpoch, type Draft } from "./summary/publish.ts";
import type { LosslessSession } from "./lossless-session.ts";
import { sentTokens } from "./session-in-memory.ts";

/** Shares of head and tail, tried one after the other when the budget is short. */
const STEPS = [
  { tail: 1, head: 1 },
  { tail: 0.5, head: 1 },
  { tail: 0, head: 1 },
  { tail: 0, head: 0.5 },
  { tail: 0, head: 0.2 },
] as const;
/** Factor over its limit from which a head is rendered from scratch. */
const HEAD_SLACK = 1.15;
const LEAST_HEAD = 100;

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

export interface Renewal {
  budget: number;
  factor: number;
  /** Minimum gain, uncorrected tokens. */
  least: number;
  turnId: string | undefined;
  /** No messages are removed; better summaries replace the present ones. */
  cold: boolean;
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
export function dueOf(session: LosslessSession, size: Size): "no" | "must" | "trigger" | "cold" {
  const { view } = session;
  const { tokens, recalled, budget, factor } = size;
  const { trigger, minimumGain } = session.shares(budget);
  if (!view.complete || tokens + recalled > budget) return "must";
  const grown = tokens - (view.epoch?.startTokens ?? 0) * factor;
  if (tokens > trigger && grown >= minimumGain) return "trigger";
  return size.begins && isWorthRenewing(session, Date.now()) ? "cold" : "no";
}

/** Better summaries are ready, and the provider's cache of the present bytes has expired anyway. */
function isWorthRenewing(session: LosslessSession, now: number): boolean {
  const { store, view, context } = session;
  const expiresAt = context?.promptCache?.expiresAt;
  if (!view.epoch || expiresAt === undefined || expiresAt > now) return false;
  const leaves = new PreparedLeaves(store, view.sessionId);
  return store.frontier(view.sessionId, { details: false }).nodeIds.some((id) => {
    const node = store.node(id);
    if (node?.origin !== "extractive") return false;
    if (store.node(nodeId({ ...node, origin: "model" }))) return true;
    const from = store.locate(view.sessionId, node.firstEntryId)?.position ?? 0;
    return isGap(node) && leaves.has(from);
  });
}

/** Drafts the next epoch, as large as the budget allows; undefined when the gain is too small. */
export async function draftRenewal(
  session: LosslessSession,
  parts: Parts,
  renewal: Renewal,
): Promise<Draft | undefined> {
  const { view, store } = session;
  const { budget, factor, turnId, cold } = renewal;
  if (cold && view.epoch) {
    const { firstKeptEntryId, splitInputId } = view.epoch;
    const sizes = session.headSizes(session.context);
    return draftEpoch(store, view, { cut: 0, firstKeptEntryId, splitInputId, ...sizes, liveTurnId: turnId });
  }
  const available = Math.floor(budget / factor) - total(parts.live, view.maxChars);
  for (const [step, shares] of STEPS.entries()) {
    const draft = await draftStep(session, parts, renewal, shares);
    if (draft === "later") continue;
    if (!draft) return undefined;
    const before = draft.epoch.startTokens - liveItems(session, parts.liveStart);
    if (before <= available || step === STEPS.length - 1)
      return before < total(parts.history, view.maxChars) ? draft : undefined;
  }
  return undefined;
}

function liveItems(session: LosslessSession, liveStart: number): number {
  return session.view.items.slice(liveStart).reduce((sum, { tokens }) => sum + tokens, 0);
}

/** One step; `later` when only a smaller step may help, undefined when none will. */
async function draftStep(
  session: LosslessSession,
  parts: Parts,
  renewal: Renewal,
  share: (typeof STEPS)[number],
): Promise<Draft | "later" | undefined> {
  const { view, store } = session;
  const { budget, factor, least, turnId } = renewal;
  const shares = session.shares(budget);
  const live = total(parts.live, view.maxChars);
  const headNow = view.epoch ? messageTokens(headMessage(view.epoch)) : 0;
  const kept = total(parts.history, view.maxChars) - headNow;
  const headTokens = Math.max(LEAST_HEAD, Math.floor((shares.head * share.head) / factor));
  const tail = (shares.tail * share.tail) / factor;
  const keep = Math.floor(Math.max(live + tail / 2, tail));
  const plan = planCut(store, view, { keep, liveStart: parts.liveStart, splitsLive: false });
  const cut = "reason" in plan ? undefined : plan;
  const isLast = share === STEPS.at(-1);
  const leaving = cut?.leaving ?? 0;
  if (headTokens + kept - leaving + live > budget / factor && !isLast) return "later";
  const first = view.epoch?.firstKeptEntryId;
  const isTooLarge = headNow > headTokens * HEAD_SLACK;
  if ((!cut && (first === undefined || !isTooLarge)) || leaving + headNow - headTokens < least)
    return undefined;
  return draftEpoch(store, view, {
    cut: cut?.index ?? 0,
    firstKeptEntryId: cut?.firstKeptEntryId ?? first ?? "",
    splitInputId: cut ? cut.splitInputId : view.epoch?.splitInputId,
    headTokens,
    userTokens: Math.floor((shares.users * share.head) / factor),
    hidesTalk: shares.hidesTalk,
    liveTurnId: turnId,
  });
}
