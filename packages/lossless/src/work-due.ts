/** Decides whether a session has background work, before the code of that work is loaded. */
import type { RuntimeContext } from "@pagurus/contract/engine/runtime-context";
import type { LosslessSession } from "./lossless-session.ts";

/** Share of the trigger from which leaves are prepared ahead. */
export const AHEAD_SHARE = 0.6;

/** False for a session without summaries and debts whose whole path is below the size from which leaves are prepared. */
export function isWorkDue(session: LosslessSession, context: RuntimeContext): boolean {
  const { store, sessionId } = session;
  const leafId = store.session(sessionId)?.leafId;
  if (!leafId) return false;
  if (store.frontier(sessionId, { details: false }).nodeIds.length > 0) return true;
  if (store.debts({ sessionId }).length > 0) return true;
  const { tokensUpTo = 0, tokens = 0 } = store.locate(sessionId, leafId) ?? {};
  const { trigger } = session.shares(context.tokenBudget);
  return (tokensUpTo + tokens) * session.factor(context) >= trigger * AHEAD_SHARE;
}
