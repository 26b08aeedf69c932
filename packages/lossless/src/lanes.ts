/** `compact` and `interceptCompaction`, called by the host's compaction lanes; they may also cut a live turn. */
import { setImmediate } from "node:timers/promises";
import { summaryOptions } from "@pagurus/core/compaction/built-in";
import type {
  CompactParams,
  CompactResult,
  CompactionInterceptRequest,
  CompactionInterceptResult,
} from "@pagurus/contract/engine/engine-compaction";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { RuntimeContext } from "@pagurus/contract/engine/runtime-context";
import { leastGain } from "@pagurus/core/compaction/runtime-plan";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { contextBefore, planCut, type Cut } from "./head/epoch-cut.ts";
import { extractLeaf, SUMMARIES_PER_HEAD, type Span } from "./summary/summary-nodes.ts";
import { NODE_SHARE } from "./head/head.ts";
import { recordOf } from "./epoch-record.ts";
import { draftEpoch, leavingSpans, publishDraft, type Draft, type HeadSizes } from "./summary/publish.ts";
import type { LosslessSession } from "./lossless-session.ts";
import type { LosslessStore } from "./store/lossless-store.ts";
import type { NewNode } from "./store/store-types.ts";
import { modelNode } from "./summary/summarize.ts";
import { sentTokens, type ViewState } from "./session-in-memory.ts";
import { defined } from "@pagurus/core/data/defined";

/** Minimum context of a forced compaction; the summary of a smaller one would be longer. Tokens. */
const SMALLEST_FORCED = 200;
/** Default timeout of the model in a manual compaction, ms. */
const MODEL_MS = 90_000;
/** Limit on a head as a share of the budget. */
const MOST_HEAD_SHARE = 0.3;

interface Asked {
  context: RuntimeContext;
  budget: number;
  force: boolean;
  /** The host's own count, tokens. */
  current: number | undefined;
  focus: string | undefined;
  /** A user waits for it: a model may write the summary now. */
  manual: boolean;
  /** The messages of people stay in the head of a talk: a person asked for it, or a program takes it, which has no passages beside it. */
  showsTalk: boolean;
  signal: AbortSignal | undefined;
}

type Made =
  | {
      draft: Draft;
      cut: Cut;
      keptEntryId: string;
      before: number;
      after: number;
      /** Why the model wrote none of the summary. */
      modelError?: string;
    }
  | { reason: string };

interface Plan extends HeadSizes {
  cut: Cut;
  /** Uncorrected tokens of the current context. */
  before: number;
  factor: number;
}

function nothing(reason: string): CompactResult {
  return { ok: true, compacted: false, reason };
}

/** Index of the live turn's first item. */
function liveStartOf(session: LosslessSession, turnId: string | undefined): number {
  const { items } = session.view;
  const at =
    turnId === undefined ? -1 : items.findIndex((item) => item.turnId === turnId && !item.isFragment);
  return at < 0 ? items.length : at;
}

/** Summaries by a model, for a user who waits; after a failure the extract and a debt remain. */
async function writtenByModel(
  session: LosslessSession,
  spans: readonly Span[],
  asked: Asked,
  headTokens: number,
): Promise<{ written: Map<string, NewNode>; modelError?: string }> {
  const { sessionId } = session;
  const written = new Map<string, NewNode>();
  const limit = Math.floor((headTokens * NODE_SHARE) / SUMMARIES_PER_HEAD);
  const { timeoutMs } = summaryOptions(asked.context, {});
  for (const span of spans) {
    const extract = await extractLeaf(sessionId, span, limit, { focus: asked.focus, signal: asked.signal });
    try {
      const node = await modelNode(session, {
        node: extract,
        messages: span.messages,
        focus: asked.focus,
        context: asked.context,
        signal: asked.signal,
        timeoutMs: Math.floor((timeoutMs ?? MODEL_MS) / Math.max(1, spans.length)),
      });
      if (node) written.set(extract.nodeId, node);
    } catch (error) {
      const failure = toPagurusError(error);
      if (failure.code === "turn_aborted") throw failure;
      // The extract is used, and its debt is retried later.
      return { written, modelError: failure.message };
    }
  }
  return { written };
}

/** Plans a compaction: the cut, and the limit on the head. */
function planEpoch(session: LosslessSession, asked: Asked): Plan | { reason: string } {
  const { view, store } = session;
  const factor = session.factor(asked.context);
  const shares = session.shares(asked.budget);
  const liveStart = liveStartOf(session, asked.context.turnId);
  const items = view.items.reduce((sum, { tokens }) => sum + tokens, 0);
  const before = contextBefore(store, view).reduce(
    (sum, message) => sum + sentTokens(message, view.maxChars),
    items,
  );
  if (asked.force && before * factor < SMALLEST_FORCED && view.complete)
    return {
      reason: `There is nothing to compact: the context has about ${Math.ceil(before * factor)} tokens.`,
    };
  const half = asked.force ? Math.floor(items / 2) : Infinity;
  const tail = Math.floor(shares.tail / factor);
  const keep = Math.min(tail, half);
  const splitsAbove = Math.floor(shares.wholeTurn / factor);
  const cut = planCut(store, view, { keep, splitsAbove, liveStart, splitsLive: true });
  if ("reason" in cut) return cut;
  // At most half of the removed messages and of the replaced head, or nothing would be gained.
  const limit = Math.floor(((cut.leaving + before - items) * factor) / 2);
  const wanted = Math.min(shares.head, Math.floor(asked.budget * MOST_HEAD_SHARE), limit);
  const headTokens = Math.max(60, Math.floor(wanted / factor));
  const userTokens = Math.floor(Math.min(shares.users, limit) / factor);
  return { cut, before, factor, headTokens, userTokens, hidesTalk: shares.hidesTalk && !asked.showsTalk };
}

async function draftCompaction(
  store: LosslessStore,
  view: ViewState,
  asked: Asked,
  plan: Plan,
  written?: ReadonlyMap<string, NewNode>,
): Promise<Made> {
  const { cut, before, factor, headTokens, userTokens, hidesTalk } = plan;
  const keptEntryId = view.items[cut.index]?.entryId;
  if (keptEntryId === undefined) return { reason: "The conversation changed while its summary was written." };
  const draft = await draftEpoch(store, view, {
    cut: cut.index,
    firstKeptEntryId: cut.firstKeptEntryId,
    splitInputId: cut.splitInputId,
    headTokens,
    userTokens,
    hidesTalk,
    focus: asked.focus,
    liveTurnId: asked.context.turnId,
    signal: asked.signal,
    ...defined({ written }),
  });
  const input =
    cut.splitInputId === undefined ? undefined : store.get(cut.splitInputId, view.sessionId)?.message;
  const after = draft.epoch.startTokens + (input ? messageTokens(input) : 0);
  if (after >= before && view.complete)
    return {
      reason: "There is nothing to compact: a summary would be no shorter than the messages it replaces.",
    };
  if (!asked.force && view.complete && before - after < leastGain(before))
    return {
      reason: `There is too little to compact: of ${Math.ceil(before * factor)} tokens ${Math.ceil(after * factor)} would be left.`,
    };
  return { draft, cut, keptEntryId, before: Math.ceil(before * factor), after: Math.ceil(after * factor) };
}

/** Compacts. The session's lock is released while a model writes. */
async function compactNow(
  session: LosslessSession,
  asked: Asked,
  sessionKey: string | undefined,
): Promise<Made> {
  const { context, budget, manual, signal } = asked;
  const begun = await session.exclusive(async () => {
    signal?.throwIfAborted();
    await session.follow({ ...context, tokenBudget: budget }, { sessionKey, signal, isWhole: true });
    const plan = planEpoch(session, asked);
    signal?.throwIfAborted();
    if ("reason" in plan) return plan;
    if (!manual) {
      const { store, view } = session;
      return publishCompaction(session, asked, await draftCompaction(store, view, asked, plan));
    }
    return { plan, state: session.view.state() };
  });
  if (!("state" in begun)) return begun;
  const { plan, state } = begun;
  const { index, firstKeptEntryId } = plan.cut;
  const { spans } = await leavingSpans(session.store, state, { cut: index, firstKeptEntryId });
  const { written, modelError } = await writtenByModel(session, spans, asked, plan.headTokens);
  const made = await draftCompaction(session.store, state, asked, plan, written);
  // Yields before publishing: the draft has used up its last slice.
  await setImmediate();
  const published = await session.exclusive(async () => publishCompaction(session, asked, made));
  return "reason" in published || modelError === undefined ? published : { ...published, modelError };
}

/** Publishes a draft, unless its path was left or its epoch was replaced meanwhile. */
function publishCompaction(session: LosslessSession, asked: Asked, made: Made): Made {
  asked.signal?.throwIfAborted();
  if ("reason" in made) return made;
  const { store, view, sessionId } = session;
  if (!store.locate(sessionId, made.cut.firstKeptEntryId)?.onPath)
    return { reason: "The conversation was rewound to before the cut while its summary was written." };
  const published = publishDraft(store, view, made.draft, { now: Date.now() });
  session.wanted = undefined;
  return published ? made : { reason: "Another process or call compacted the session meanwhile." };
}

/** Implements `compact`. Throws `turn_aborted` when its signal fires, and the store's errors. */
export async function compactSession(
  session: LosslessSession,
  params: CompactParams,
): Promise<CompactResult> {
  const {
    runtimeContext: context,
    abortSignal: signal,
    compactionTarget,
    currentTokenCount: current,
  } = params;
  if (!context)
    return {
      ok: false,
      compacted: false,
      reason: "The lossless engine cannot compact without the host's runtime context.",
    };
  const budget = params.tokenBudget ?? context.tokenBudget;
  const manual = context.manualCompaction ?? false;
  const force = params.force ?? manual;
  if (
    !force &&
    compactionTarget === "budget" &&
    current !== undefined &&
    current < session.shares(budget).trigger &&
    session.wanted?.turnId !== (context.turnId ?? "")
  )
    return nothing(
      `There is nothing to compact: ${Math.round(current)} tokens are within the budget of ${budget}.`,
    );
  try {
    const focus = params.customInstructions;
    const asked = { context, budget, force, current, manual, signal, focus, showsTalk: manual };
    const made = await compactNow(session, asked, params.sessionKey);
    if ("reason" in made) return nothing(made.reason);
    const { draft, cut, keptEntryId, before, after, modelError } = made;
    return {
      ok: true,
      compacted: true,
      result: {
        summary: draft.epoch.head,
        firstKeptEntryId: keptEntryId,
        ...defined({ splitTurnInputId: cut.splitInputId }),
        origin: modelError === undefined ? "engine" : "extractive",
        tokensBefore: before,
        tokensAfter: after,
        details: { ...recordOf(draft), ...defined({ modelError }) },
      },
    };
  } catch (error) {
    if (signal?.aborted)
      throw new PagurusError("turn_aborted", "The compaction was aborted.", { cause: error });
    throw error;
  }
}

/** Implements `interceptCompaction`, without waiting for a model: uses prepared summaries, else an extract. */
export async function interceptSession(
  session: LosslessSession,
  request: CompactionInterceptRequest,
): Promise<CompactionInterceptResult> {
  const { context } = session;
  if (!context)
    return { handled: false, reason: "The engine has no context of this session in this process yet." };
  const { customInstructions: focus, signal, currentTokenCount: current, trigger } = request;
  const asked = {
    context,
    budget: context.tokenBudget,
    force: trigger !== "threshold",
    current,
    focus,
    manual: false,
    showsTalk: true,
    signal,
  };
  const made = await compactNow(session, asked, request.sessionKey);
  if ("reason" in made) return { handled: false, reason: made.reason };
  return {
    handled: true,
    summary: made.draft.epoch.head,
    firstKeptEntryId: made.keptEntryId,
    tokensBefore: made.before,
    details: recordOf(made.draft),
  };
}
