/**
 * Background work: prepares leaves for the next compaction, summarizes gaps, and replaces extracts with model summaries.
 * Leased, so that two processes never do the same work; no lock is held while a model writes, and nothing is published
 * here: the next epoch uses what is ready.
 */
import { backOffMs } from "@pagurus/core/data/back-off";
import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { toPagurusError } from "@pagurus/contract/errors";
import type { AgentMessage } from "@pagurus/contract/message";
import type { RuntimeContext } from "@pagurus/contract/engine/runtime-context";
import { NODE_SHARE } from "./head/head.ts";
import { extractLeaf, isGap, LEAF_TOKENS, SUMMARIES_PER_HEAD, spansOf } from "./summary/summary-nodes.ts";
import { PreparedLeaves } from "./summary/prepared-leaves.ts";
import { best } from "./summary/publish.ts";
import type { LosslessSession } from "./lossless-session.ts";
import type { Debt, NewNode, SummaryNode } from "./store/store-types.ts";
import { mayAsk, modelNode } from "./summary/summarize.ts";
import { sentTokens, type Item } from "./session-in-memory.ts";
import { AHEAD_SHARE } from "./work-due.ts";
import { defined } from "@pagurus/core/data/defined";

/** Timeout of a model call. Shorter than the host's timeout of a run, so that the failure is recorded. */
const CALL_MS = 50_000;
/** Duration of a run; no call starts with less than the minimum time left. */
const RUN_MS = 55_000;
const LEAST_CALL_MS = 20_000;
const LEASE_MS = 2 * CALL_MS;
/** Pauses between the attempts. */
const PAUSES = { firstMs: 60_000, longestMs: 6 * 3_600_000 };
/** Leaves per trigger: a small trigger has smaller leaves, or none would be complete before it is reached. */
const LEAVES_A_TRIGGER = 4;
/** Limit on leaves of gaps in one run. */
const GAP_LEAVES = 64;
/** Limit on model calls in one run. */
const MOST_CALLS = 8;

export interface Work {
  leaves: number;
  summaries: number;
  failed: number;
}

interface Run {
  session: LosslessSession;
  context: RuntimeContext;
  signal: AbortSignal | undefined;
  owner: string;
  /** Start time, ms. */
  since: number;
  /** Limits on a leaf's text and on its source; uncorrected tokens. */
  leafTokens: number;
  sourceTokens: number;
  done: Work;
}

function isOver({ signal }: Run): boolean {
  return signal?.aborted === true;
}

function timeLeft({ since }: Run): number {
  return Math.max(0, since + RUN_MS - Date.now());
}

function addLeaf(run: Run, leaf: NewNode): void {
  const { store, sessionId } = run.session;
  store.transaction(() => {
    if (!store.addNode(leaf)) return;
    store.owe(sessionId, "node", leaf.nodeId);
    run.done.leaves += 1;
    const { firstEntryId, lastEntryId, nodeId } = leaf;
    store.putDebt({
      debtId: `d${nodeId}`,
      sessionId,
      firstEntryId,
      lastEntryId,
      attempts: 0,
      nextAt: Date.now(),
      details: { nodeId },
    });
  });
}

/** Prepares complete leaves of the span from a position up to `until` (exclusive); existing ones count. */
async function prepareSpan(run: Run, from: number, until: number, most: number): Promise<void> {
  const { store, sessionId } = run.session;
  const chain = new PreparedLeaves(store, sessionId).between(from, until);
  const last = chain.at(-1);
  let start = last ? (store.locate(sessionId, last.lastEntryId)?.position ?? until) + 1 : from;
  for (let made = 0; made < most && !isOver(run); made += 1) {
    const at = start;
    const next = await prepareLeaf(run, at, until);
    if (next === undefined) return;
    start = next;
    await setImmediate();
  }
}

/** Prepares the leaf that begins at a position; returns the start of the next one, or undefined when no complete one is left. */
async function prepareLeaf(run: Run, start: number, until: number): Promise<number | undefined> {
  const { store, sessionId } = run.session;
  const first = store.at(sessionId, start);
  const end = store.at(sessionId, until - 1);
  if (!first || !end || start >= until || isOver(run)) return undefined;
  const page = store.range(sessionId, first.entryId, end.entryId, {
    limit: 5_000,
    maxTokens: run.sourceTokens,
  });
  const next = page.next === undefined ? undefined : roundStart(run, page.next, until);
  if (next === undefined) return undefined;
  // A leaf ends at the end of a round; the rest of the page belongs to the next one.
  const items = page.items.flatMap(({ entryId, message, position }): Item[] => {
    if (!message || position >= next.position) return [];
    return [
      {
        entryId,
        placeId: entryId,
        message: { ...message, entryId },
        tokens: sentTokens(message, run.session.view.maxChars),
        isFragment: false,
      },
    ];
  });
  const [span] = spansOf(store, sessionId, items, {
    from: start,
    until: next.entryId,
    leafTokens: Infinity,
  });
  if (!span) return undefined;
  addLeaf(run, await extractLeaf(sessionId, span, run.leafTokens));
  return next.position;
}

/** The first entry after `after` that starts a round; undefined when there is none before `until`. */
function roundStart(
  run: Run,
  after: string,
  until: number,
): { entryId: string; position: number } | undefined {
  const { store, sessionId } = run.session;
  const at = store.locate(sessionId, after)?.position ?? until;
  for (let position = at + 1; position < until; position += 1) {
    const entry = store.at(sessionId, position);
    if (entry?.kind === "message" && entry.role !== "toolResult") return { entryId: entry.entryId, position };
  }
  return undefined;
}

/** Prepares leaves for the next compaction, and of gaps. */
async function prepareLeaves(run: Run): Promise<void> {
  const { session, context } = run;
  const { store, sessionId } = session;
  const frontier = store.frontier(sessionId, { details: false });
  for (const id of frontier.nodeIds) {
    const node = store.node(id);
    if (!node || !isGap(node)) continue;
    const from = store.locate(sessionId, node.firstEntryId);
    const to = store.locate(sessionId, node.lastEntryId);
    if (from?.onPath && to?.onPath) await prepareSpan(run, from.position, to.position + 1, GAP_LEAVES);
  }
  const known = store.session(sessionId);
  if (!known?.leafId || isOver(run)) return;
  const first =
    frontier.firstKeptEntryId === null
      ? store.at(sessionId, 0)
      : store.locate(sessionId, frontier.firstKeptEntryId);
  const leaf = store.locate(sessionId, known.leafId);
  if (!first || !leaf) return;
  const factor = session.factor(context);
  const shares = session.shares(context.tokenBudget);
  const kept = (leaf.tokensUpTo - first.tokensUpTo + first.tokens) * factor;
  if (kept < shares.trigger * AHEAD_SHARE) return;
  const tail = store.outlineBack(sessionId, { maxTokens: Math.floor(shares.tail / factor) });
  const until = tail.items[0]?.position ?? 0;
  await prepareSpan(run, first.position, until, GAP_LEAVES);
}

function sourceOf(run: Run, node: SummaryNode): AgentMessage[] {
  const { store, sessionId } = run.session;
  if (node.kind === "condensed") {
    return node.children.flatMap((id): AgentMessage[] => {
      const child = store.node(id);
      return child ? [{ role: "user", content: best(store, child).text }] : [];
    });
  }
  const messages: AgentMessage[] = [];
  let after: string | undefined;
  do {
    const page = store.range(sessionId, node.firstEntryId, node.lastEntryId, {
      limit: 1_000,
      ...defined({ after }),
    });
    for (const { message, entryId } of page.items) if (message) messages.push({ ...message, entryId });
    after = page.next;
  } while (after !== undefined);
  return messages;
}

/** Pays one debt; true when a model was called. A debt whose extract is no longer shown is dropped. */
async function pay(run: Run, debt: Debt): Promise<boolean> {
  const { session, context, signal, owner, done } = run;
  const { store, sessionId } = session;
  const { nodeId: id } = (debt.details ?? {}) as { nodeId?: string };
  const node = id === undefined ? undefined : store.node(id);
  if (!node || node.state === "replaced") {
    store.settleDebt(debt.debtId);
    return false;
  }
  const now = Date.now();
  if (!store.takeLease({ leaseId: debt.debtId, owner, now, ttlMs: LEASE_MS, sessionId })) return false;
  try {
    const { order: _, ...extract } = node;
    const made = await modelNode(session, {
      node: extract,
      messages: sourceOf(run, node),
      focus: undefined,
      context,
      signal,
      timeoutMs: Math.min(CALL_MS, timeLeft(run)),
    });
    if (!made) return false;
    store.transaction(() => {
      if (store.addNode(made)) store.owe(sessionId, "node", made.nodeId);
      store.settleDebt(debt.debtId);
    });
    done.summaries += 1;
  } catch (error) {
    if (isOver(run)) return true;
    const { code } = toPagurusError(error);
    const attempts = debt.attempts + 1;
    store.putDebt({ ...debt, attempts, nextAt: Date.now() + backOffMs(attempts, PAUSES), errorCode: code });
    done.failed += 1;
  } finally {
    store.releaseLease(debt.debtId, owner);
  }
  return true;
}

/** Runs the due work of a session. Throws the store's errors; a model failure keeps its debt. */
export async function workSession(
  session: LosslessSession,
  context: RuntimeContext,
  signal?: AbortSignal,
): Promise<Work> {
  const { store, sessionId } = session;
  const run: Run = {
    session,
    context,
    signal,
    owner: randomUUID(),
    since: Date.now(),
    leafTokens: Math.floor((session.headSizes(context).headTokens * NODE_SHARE) / SUMMARIES_PER_HEAD),
    sourceTokens: Math.min(
      LEAF_TOKENS,
      Math.floor(session.shares(context.tokenBudget).trigger / LEAVES_A_TRIGGER / session.factor(context)),
    ),
    done: { leaves: 0, summaries: 0, failed: 0 },
  };
  if (!store.has(sessionId) || isOver(run)) return run.done;
  await prepareLeaves(run);
  store.forgetDebts(sessionId);
  // The source of a debt is read only when it can be paid.
  if (!mayAsk(session, context)) return run.done;
  let calls = 0;
  for (const debt of store.debts({ sessionId, dueAt: Date.now() })) {
    if (calls >= MOST_CALLS || isOver(run) || timeLeft(run) < LEAST_CALL_MS) break;
    if (await pay(run, debt)) calls += 1;
    // Stops at the first failure: other calls would most likely fail too.
    if (run.done.failed > 0) break;
  }
  return run.done;
}
