/** Epochs from other sources than a compaction: a transcript's summary, a changed path, a fork. */
import { Pace } from "@pagurus/core/platform/pace";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { epochId, NO_FACTS, type Epoch, type Facts } from "../epoch.ts";
import { factsOfSummary, gatherFacts, MOST_USERS } from "../head/carried-facts.ts";
import { renderHead } from "../head/head.ts";
import { lastingBefore } from "../head/rule-history.ts";
import { nodeId } from "./summary-nodes.ts";
import { fresh, headLimits, messagesById, publishDraft, uncoveredFrom, type HeadSizes } from "./publish.ts";
import type { EpochRecord } from "../epoch-record.ts";
import type { LosslessStore } from "../store/lossless-store.ts";
import type { NewNode } from "../store/store-types.ts";
import type { SessionView } from "../session-in-memory.ts";
import { defined } from "@pagurus/core/data/defined";

/**
 * Restores the epoch that an entry of ours records, with the same bytes; the store has its nodes. One whose first kept entry is not on the
 * path is restored as far as its summaries are, for `recoverEpoch`. False when summaries are missing.
 */
export function restoreEpoch(
  store: LosslessStore,
  view: SessionView,
  { epoch, frontier }: EpochRecord,
): boolean {
  const { sessionId } = view;
  const isOnPath = (id: string): boolean => store.locate(sessionId, id)?.onPath === true;
  const isKept = isOnPath(epoch.firstKeptEntryId);
  const nodes: NewNode[] = [];
  for (const id of frontier) {
    const node = store.node(id);
    if (node && isOnPath(node.lastEntryId)) nodes.push(fresh(node));
    else if (isKept) return false;
    else break;
  }
  const madeAt = Math.min(epoch.madeAt, store.session(sessionId)?.entries ?? 0);
  const draft = { epoch: { ...epoch, madeAt }, version: view.version, nodes, made: [] };
  return publishDraft(store, view, draft, { now: 0, isLogged: true });
}

/** Page size and limit on pages in the search for user messages before a cut. */
const PAGE = 2_000;
const PAGES = 10;
/** Newest entries before a cut that are read for other facts, tokens. */
const FACT_TOKENS = 100_000;

/** The newest user messages before an entry, oldest first. */
function usersBefore(store: LosslessStore, sessionId: string, entryId: string): string[] {
  const newestFirst: string[] = [];
  let before = entryId;
  for (let page = 0; page < PAGES && newestFirst.length < MOST_USERS; page += 1) {
    const { items, complete } = store.outlineBack(sessionId, { before, maxMessages: PAGE });
    newestFirst.push(...items.flatMap((item) => (item.role === "user" ? [item.entryId] : [])).reverse());
    const [first] = items;
    if (complete || !first) break;
    before = first.entryId;
  }
  return newestFirst.slice(0, MOST_USERS).reverse();
}

/** Facts before an entry of the path: all user messages, and other facts of the newest part. */
async function factsBefore(
  store: LosslessStore,
  sessionId: string,
  entryId: string,
  known: Facts,
): Promise<Facts> {
  const { items } = store.walkBack(sessionId, { before: entryId, maxTokens: FACT_TOKENS });
  const messages = items.flatMap((item) =>
    item.message ? [{ ...item.message, entryId: item.entryId }] : [],
  );
  const facts = await gatherFacts(known, { messages, badEnds: [], inTurn: false }, new Pace());
  const lasting = await lastingBefore(store, sessionId, entryId, new Pace());
  return { ...facts, users: usersBefore(store, sessionId, entryId), lasting };
}

/** Adopts a summary from the transcript: by the host, by another engine, or ours after the loss of the store. */
export async function adoptSummary(
  store: LosslessStore,
  view: SessionView,
  summary: { text: string; firstKeptEntryId: string; splitInputId?: string | undefined },
): Promise<boolean> {
  const { sessionId } = view;
  const kept = store.locate(sessionId, summary.firstKeptEntryId);
  // A summary at the beginning of a path covers no entries: its content is nowhere else.
  if (!kept?.onPath || (kept.position === 0 && kept.kind !== "compaction")) return false;
  const first = store.at(sessionId, 0);
  const last = store.at(sessionId, Math.max(0, kept.position - 1));
  if (!first || !last) return false;
  const base = {
    sessionId,
    kind: "leaf",
    origin: "engine",
    depth: 0,
    firstEntryId: first.entryId,
    lastEntryId: last.entryId,
  } as const;
  const node: NewNode = {
    ...base,
    nodeId: nodeId({ ...base, focus: summary.text }),
    children: [],
    text: summary.text,
    tokens: messageTokens({ role: "user", content: summary.text }),
    sourceTokens: last.tokensUpTo,
    state: "prepared",
  };
  const epoch: Epoch = {
    id: epochId(summary.text, summary.firstKeptEntryId),
    head: summary.text,
    firstKeptEntryId: summary.firstKeptEntryId,
    ...defined({ splitInputId: summary.splitInputId }),
    // The head is the summary; the next head also has the text of the prefix, which is in the store.
    facts: await factsBefore(store, sessionId, kept.entryId, factsOfSummary(summary.text)),
    stubs: {},
    madeAt: store.session(sessionId)?.entries ?? 0,
    startTokens: 0,
  };
  return publishDraft(store, view, { epoch, version: view.version, nodes: [node], made: [node] }, { now: 0 });
}

/**
 * Recovers when the epoch's first kept entry is no longer on the path: the summaries that still cover the path's
 * beginning become the new head, and everything after them is shown verbatim.
 */
export async function recoverEpoch(store: LosslessStore, view: SessionView, sizes: HeadSizes): Promise<void> {
  const { sessionId, broken } = view;
  if (!broken) return;
  const nodes: NewNode[] = [];
  for (const id of store.frontier(sessionId).nodeIds) {
    const node = store.node(id);
    if (!node || !store.locate(sessionId, node.lastEntryId)?.onPath) break;
    nodes.push(fresh(node));
  }
  const next = store.at(sessionId, uncoveredFrom(store, sessionId, nodes));
  if (nodes.length === 0 || !next) {
    store.transaction(() => {
      store.publishFrontier(sessionId, view.version, { nodeIds: [], firstKeptEntryId: null });
      store.owe(sessionId, "epoch");
    });
    view.load();
    return;
  }
  // Facts of the abandoned branch are dropped: only those of the path count.
  const facts = await factsBefore(store, sessionId, next.entryId, NO_FACTS);
  const head = await renderHead(
    {
      facts,
      nodes: nodes.map((node, order) => ({ ...node, order })),
      messages: messagesById(store, view, facts.users),
      pins: [],
      ...headLimits(facts, sizes),
    },
    1,
    new Pace(),
  );
  const epoch: Epoch = {
    id: epochId(head.text, next.entryId),
    head: head.text,
    firstKeptEntryId: next.entryId,
    facts: head.facts,
    stubs: {},
    madeAt: store.session(sessionId)?.entries ?? 0,
    startTokens: 0,
  };
  publishDraft(store, view, { epoch, version: view.version, nodes, made: [] }, { now: 0 });
}

/** Starts a fork with its parent's epoch when it has that epoch's entries: the same nodes, the same bytes. */
export function shareEpoch(store: LosslessStore, view: SessionView, parentId: string): void {
  if (!store.session(parentId)) return;
  const frontier = store.frontier(parentId);
  const first = frontier.firstKeptEntryId;
  if (first === null || !store.locate(view.sessionId, first)?.onPath) return;
  const { nodeIds, details } = frontier;
  store.transaction(() => {
    store.publishFrontier(view.sessionId, view.version, { nodeIds, firstKeptEntryId: first, details });
    store.owe(view.sessionId, "epoch");
  });
  view.load();
}
