/** Where the next epoch begins. Cuts fall where every compaction of the host may cut. */
import { planCompaction } from "../../compaction/plan.ts";
import type { AgentMessage } from "../../contract/message.ts";
import { headMessage } from "./epoch.ts";
import type { LosslessStore } from "./store/store.ts";
import { sentTokens, type SessionView } from "./view.ts";

export interface Cut {
  /** Index of the view's first item that stays. */
  index: number;
  firstKeptEntryId: string;
  splitInputId?: string;
  /** Uncorrected tokens of the items that leave. */
  leaving: number;
}

interface CutOptions {
  /** Uncorrected tokens that stay, the live turn included. */
  keep: number;
  /** Index of the live turn's first item; the number of items where there is none. */
  liveStart: number;
  /** The live turn may be cut, between its closed rounds. */
  splitsLive: boolean;
}

/** Messages of a context: the input of a split turn, the head, the items. */
export function contextBefore(store: LosslessStore, view: SessionView): AgentMessage[] {
  const { epoch, sessionId } = view;
  if (!epoch) return [];
  const head = headMessage(epoch);
  const id = epoch.splitInputId;
  const input = id === undefined || view.has(id) ? undefined : store.get(id, sessionId)?.message;
  return input && id !== undefined ? [{ ...input, entryId: id }, head] : [head];
}

/** True where the live turn was split already: its input stands first, before the head. */
function isOfSplitTurn(store: LosslessStore, view: SessionView, liveStart: number): boolean {
  const id = view.epoch?.splitInputId;
  const first = view.items[liveStart];
  if (id === undefined || liveStart !== 0 || first?.turnId === undefined || view.has(id)) return false;
  return store.get(id, view.sessionId)?.turnId === first.turnId;
}

/** A reason where nothing may be cut. */
export function planCut(
  store: LosslessStore,
  view: SessionView,
  options: CutOptions,
): Cut | { reason: string } {
  const before = contextBefore(store, view);
  const messages = [...before, ...view.items.map(({ message }) => message)];
  const liveStart = isOfSplitTurn(store, view, options.liveStart) ? 0 : before.length + options.liveStart;
  const live = view.items.slice(options.liveStart).reduce((sum, { tokens }) => sum + tokens, 0);
  // What must not be cut is no reason to leave less of the rest.
  const keepRecentTokens = options.splitsLive ? options.keep : Math.max(options.keep, live);
  const fragments = new Set(view.items.filter(({ isFragment }) => isFragment).map(({ entryId }) => entryId));
  const tokens = (message: AgentMessage): number => sentTokens(message, view.maxChars);
  const plan = planCompaction({ messages, liveStart, keepRecentTokens, tokens, fragments });
  if ("reason" in plan) return plan;
  const index = view.indexOf(plan.firstKeptEntryId);
  const item = view.items[index];
  if (!item) return { reason: `The entry ${plan.firstKeptEntryId} is not behind the head.` };
  return {
    index,
    firstKeptEntryId: item.placeId,
    ...(plan.splitTurnInputId === undefined ? {} : { splitInputId: plan.splitTurnInputId }),
    leaving: view.items.slice(0, index).reduce((sum, { tokens }) => sum + tokens, 0),
  };
}
