/** Drafts a new epoch that is due, as small as it has to be. Everything before the live turn may be removed. */
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { planCut } from "./head/epoch-cut.ts";
import { headMessage } from "./epoch.ts";
import { draftEpoch, type Draft } from "./summary/publish.ts";
import type { LosslessSession } from "./lossless-session.ts";
import { total, type Parts } from "./renewal-due.ts";

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
const LEAST_RENEWED_HEAD = 100;

export interface Renewal {
  budget: number;
  factor: number;
  /** Minimum gain, uncorrected tokens. */
  least: number;
  turnId: string | undefined;
  /** No messages are removed; better summaries replace the present ones. */
  cold: boolean;
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
  const headTokens = Math.max(LEAST_RENEWED_HEAD, Math.floor((shares.head * share.head) / factor));
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
