/** Chooses where the next epoch begins, at the same places where the host's compactions may cut. */
import { planCompaction } from "@pagurus/core/compaction/compaction-plan";
import type { AgentMessage } from "@pagurus/contract/message";
import { headMessage } from "../epoch.ts";
import type { LosslessStore } from "../store/lossless-store.ts";
import { sentTokens, type SessionView } from "../session-in-memory.ts";
import { defined } from "@pagurus/core/data/defined";

export interface Cut {
  /** Index of the view's first kept item. */
  index: number;
  firstKeptEntryId: string;
  splitInputId?: string;
  /** Uncorrected tokens of the removed items. */
  leaving: number;
}

interface CutOptions {
  /** Uncorrected tokens to keep, the live turn included. */
  keep: number;
  /** A turn of at most this many tokens is split only when nothing older can be summarized; default `keep`. */
  splitsAbove?: number;
  /** Index of the live turn's first item; the number of items when there is none. */
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
  const isBefore = id !== undefined && !view.has(id);
  const input = isBefore ? (view.input ?? store.get(id, sessionId)?.message) : undefined;
  return input && id !== undefined ? [{ ...input, entryId: id }, head] : [head];
}

/** True when the live turn was split already: its input comes first, before the head. */
function isOfSplitTurn(store: LosslessStore, view: SessionView, liveStart: number): boolean {
  const id = view.epoch?.splitInputId;
  const first = view.items[liveStart];
  if (id === undefined || liveStart !== 0 || first?.turnId === undefined || view.has(id)) return false;
  return store.get(id, view.sessionId)?.turnId === first.turnId;
}

/** Plans the cut; returns a reason when nothing may be cut. */
export function planCut(
  store: LosslessStore,
  view: SessionView,
  options: CutOptions,
): Cut | { reason: string } {
  const before = contextBefore(store, view);
  const messages = [...before, ...view.items.map(({ message }) => message)];
  const liveStart = isOfSplitTurn(store, view, options.liveStart) ? 0 : before.length + options.liveStart;
  const live = view.items.slice(options.liveStart).reduce((sum, { tokens }) => sum + tokens, 0);
  // A live turn that must not be cut does not reduce what is kept of the rest.
  const keepRecentTokens = options.splitsLive ? options.keep : Math.max(options.keep, live);
  const fragments = new Set(view.items.filter(({ isFragment }) => isFragment).map(({ entryId }) => entryId));
  const tokens = (message: AgentMessage): number => sentTokens(message, view.maxChars);
  const splitsAbove = Math.max(keepRecentTokens, options.splitsAbove ?? 0);
  const plan = planCompaction({ messages, liveStart, keepRecentTokens, splitsAbove, tokens, fragments });
  if ("reason" in plan) return plan;
  const index = view.indexOf(plan.firstKeptEntryId);
  const item = view.items[index];
  if (!item) return { reason: `The entry ${plan.firstKeptEntryId} is not after the head.` };
  return {
    index,
    firstKeptEntryId: item.placeId,
    ...defined({ splitInputId: plan.splitTurnInputId }),
    leaving: view.items.slice(0, index).reduce((sum, { tokens }) => sum + tokens, 0),
  };
}
