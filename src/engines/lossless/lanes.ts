/** `compact` and `interceptCompaction`: the host's compaction lanes, which may also cut a live turn. */
import { setImmediate } from "node:timers/promises";
import { summaryOptions } from "../../compaction/built-in.ts";
import type {
  CompactParams,
  CompactResult,
  CompactionInterceptRequest,
  CompactionInterceptResult,
} from "../../contract/engine-compaction.ts";
import { PagurusError, toPagurusError } from "../../contract/errors.ts";
import type { RuntimeContext } from "../../contract/runtime-context.ts";
import { leastGain } from "../../compaction/runtime-plan.ts";
import { messageTokens } from "../../tokens/messages.ts";
import { contextBefore, planCut, type Cut } from "./cut.ts";
import { extractLeaf, PARTS, type Span } from "./nodes.ts";
import { NODE_SHARE } from "./head.ts";
import { recordOf } from "./record.ts";
import { draftEpoch, leavingSpans, publishDraft, type Draft } from "./publish.ts";
import type { LosslessSession } from "./session.ts";
import type { LosslessStore } from "./store/store.ts";
import type { NewNode } from "./store/types.ts";
import { modelNode } from "./summarize.ts";
import { sentTokens, type ViewState } from "./view.ts";

/** A forced compaction of a smaller context would say more than it saves. Tokens. */
const SMALLEST_FORCED = 200;
/** Longest wait for the model of a compaction that a user asked for, ms. */
const MODEL_MS = 90_000;
/** A head takes at most this share of the budget. */
const MOST_HEAD_SHARE = 0.3;

interface Asked {
  context: RuntimeContext;
  budget: number;
  force: boolean;
  /** What the host counts, tokens. */
  current: number | undefined;
  focus: string | undefined;
  /** A user waits for it: the summary may be a model's at once. */
  manual: boolean;
  signal: AbortSignal | undefined;
}

type Made =
  | {
      draft: Draft;
      cut: Cut;
      keptEntryId: string;
      before: number;
      after: number;
      /** Why a model that was asked has written none of it. */
      modelError?: string;
    }
  | { reason: string };

interface Plan {
  cut: Cut;
  /** Uncorrected tokens of the context as it is. */
  before: number;
  factor: number;
  /** Uncorrected. */
  headTokens: number;
  userTokens: number;
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

/** Summaries of what leaves, by a model, for a user who waits; what fails is left to the extract and a debt. */
async function writtenByModel(
  session: LosslessSession,
  spans: readonly Span[],
  asked: Asked,
  headTokens: number,
): Promise<{ written: Map<string, NewNode>; modelError?: string }> {
  const { sessionId } = session;
  const written = new Map<string, NewNode>();
  const limit = Math.floor((headTokens * NODE_SHARE) / PARTS);
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
      // The extract stands in, and its debt is tried again later.
      return { written, modelError: failure.message };
    }
  }
  return { written };
}

/** What a compaction cuts and how much its head may take. */
function planRoom(session: LosslessSession, asked: Asked): Plan | { reason: string } {
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
  const keep = Math.min(Math.floor(shares.tail / factor), half);
  const cut = planCut(store, view, { keep, liveStart, splitsLive: true });
  if ("reason" in cut) return cut;
  // Half of what the head stands for and of what it takes the place of: else nothing would be gained.
  const room = Math.floor(((cut.leaving + before - items) * factor) / 2);
  const wanted = Math.min(shares.head, Math.floor(asked.budget * MOST_HEAD_SHARE), room);
  const headTokens = Math.max(60, Math.floor(wanted / factor));
  const userTokens = Math.floor(Math.min(shares.users, room) / factor);
  return { cut, before, factor, headTokens, userTokens };
}

async function makeRoom(
  store: LosslessStore,
  view: ViewState,
  asked: Asked,
  plan: Plan,
  written?: ReadonlyMap<string, NewNode>,
): Promise<Made> {
  const { cut, before, factor, headTokens, userTokens } = plan;
  const keptEntryId = view.items[cut.index]?.entryId;
  if (keptEntryId === undefined) return { reason: "The conversation changed while its summary was written." };
  const draft = await draftEpoch(store, view, {
    cut: cut.index,
    firstKeptEntryId: cut.firstKeptEntryId,
    splitInputId: cut.splitInputId,
    headTokens,
    userTokens,
    focus: asked.focus,
    liveTurnId: asked.context.turnId,
    signal: asked.signal,
    ...(written ? { written } : {}),
  });
  const input =
    cut.splitInputId === undefined ? undefined : store.get(cut.splitInputId, view.sessionId)?.message;
  const after = draft.epoch.startTokens + (input ? messageTokens(input) : 0);
  if (after >= before && view.complete)
    return { reason: "There is nothing to compact: a summary would be no shorter than what it stands for." };
  if (!asked.force && view.complete && before - after < leastGain(before))
    return {
      reason: `There is too little to compact: of ${Math.ceil(before * factor)} tokens ${Math.ceil(after * factor)} would be left.`,
    };
  return { draft, cut, keptEntryId, before: Math.ceil(before * factor), after: Math.ceil(after * factor) };
}

/** The session is left to other calls while a model writes. */
async function compactNow(
  session: LosslessSession,
  asked: Asked,
  sessionKey: string | undefined,
): Promise<Made> {
  const { context, budget, manual, signal } = asked;
  const begun = await session.exclusive(async () => {
    signal?.throwIfAborted();
    await session.follow({ ...context, tokenBudget: budget }, { sessionKey, signal });
    const plan = planRoom(session, asked);
    signal?.throwIfAborted();
    if ("reason" in plan) return plan;
    if (!manual) {
      const { store, view } = session;
      return publishRoom(session, asked, await makeRoom(store, view, asked, plan));
    }
    return { plan, state: session.view.state() };
  });
  if (!("state" in begun)) return begun;
  const { plan, state } = begun;
  const { index, firstKeptEntryId } = plan.cut;
  const { spans } = await leavingSpans(session.store, state, { cut: index, firstKeptEntryId });
  const { written, modelError } = await writtenByModel(session, spans, asked, plan.headTokens);
  const made = await makeRoom(session.store, state, asked, plan, written);
  // The draft's last slice is over: others have their turn before it is published.
  await setImmediate();
  const published = await session.exclusive(async () => publishRoom(session, asked, made));
  return "reason" in published || modelError === undefined ? published : { ...published, modelError };
}

/** A draft of a path that was left, or of an epoch that was replaced, is not published. */
function publishRoom(session: LosslessSession, asked: Asked, made: Made): Made {
  asked.signal?.throwIfAborted();
  if ("reason" in made) return made;
  const { store, view, sessionId } = session;
  if (!store.locate(sessionId, made.cut.firstKeptEntryId)?.onPath)
    return { reason: "The conversation was taken back behind the cut while its summary was written." };
  const published = publishDraft(store, view, made.draft, Date.now());
  session.wanted = undefined;
  return published ? made : { reason: "The session was compacted by somebody else meanwhile." };
}

/** Throws `turn_aborted` when its signal fires, and what the store throws. */
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
    const asked = { context, budget, force, current, manual, signal, focus: params.customInstructions };
    const made = await compactNow(session, asked, params.sessionKey);
    if ("reason" in made) return nothing(made.reason);
    const { draft, cut, keptEntryId, before, after, modelError } = made;
    return {
      ok: true,
      compacted: true,
      result: {
        summary: draft.epoch.head,
        firstKeptEntryId: keptEntryId,
        ...(cut.splitInputId === undefined ? {} : { splitTurnInputId: cut.splitInputId }),
        origin: modelError === undefined ? "engine" : "extractive",
        tokensBefore: before,
        tokensAfter: after,
        details: { ...recordOf(draft), ...(modelError === undefined ? {} : { modelError }) },
      },
    };
  } catch (error) {
    if (signal?.aborted)
      throw new PagurusError("turn_aborted", "The compaction was aborted.", { cause: error });
    throw error;
  }
}

/** Answers the run's own threshold check at once: with what is prepared, else with an extract. */
export async function interceptSession(
  session: LosslessSession,
  request: CompactionInterceptRequest,
): Promise<CompactionInterceptResult> {
  const { context } = session;
  if (!context) return { handled: false, reason: "The engine has not met this session in this process yet." };
  const { customInstructions: focus, signal, currentTokenCount: current, trigger } = request;
  const asked = {
    context,
    budget: context.tokenBudget,
    force: trigger !== "threshold",
    current,
    focus,
    manual: false,
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
