/** Makes a new epoch: removed messages become summaries and facts, from which a head is rendered. */
import type { AgentMessage } from "@pagurus/contract/message";
import { Pace } from "@pagurus/core/platform/pace";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { measured } from "../head/chapters.ts";
import { epochDetails, epochId, headMessage, isTalk, NO_FACTS, type Epoch, type Facts } from "../epoch.ts";
import { gatherNews } from "../head/carried-facts.ts";
import { NODE_SHARE } from "../head/head.ts";
import { makeHead } from "../head/make-head.ts";
import { lastingBefore, stillLasting } from "../head/rule-history.ts";
import {
  extractLeaf,
  gapNode,
  isGap,
  LEAF_TOKENS,
  SUMMARIES_PER_HEAD,
  nodeId,
  spansOf,
  type Span,
} from "./summary-nodes.ts";
import { PreparedLeaves } from "./prepared-leaves.ts";
import { stubsOf } from "./prune.ts";
import type { LosslessStore } from "../store/lossless-store.ts";
import type { NewNode, SummaryNode } from "../store/store-types.ts";
import { original, stubbed, type Item, type SessionView, type ViewState } from "../session-in-memory.ts";
import { defined } from "@pagurus/core/data/defined";

/** Limits on a head, uncorrected tokens. */
export interface HeadSizes {
  headTokens: number;
  /** Limit on the user's messages. */
  userTokens: number;
  /** Where people only talk, their messages are not shown word for word, but those with attached data; what they demand is listed. */
  hidesTalk: boolean;
}

interface EpochRequest extends HeadSizes {
  /** Index of the first kept item; 0 only renders the head again. */
  cut: number;
  /** Entry id of that item's place. */
  firstKeptEntryId: string;
  splitInputId?: string | undefined;
  focus?: string | undefined;
  /** Summaries that a model has just written, by the id of the node they replace. */
  written?: ReadonlyMap<string, NewNode>;
  /** The live turn, which is not pruned. */
  liveTurnId?: string | undefined;
  signal?: AbortSignal | undefined;
}

export interface Draft {
  epoch: Epoch;
  /** Version of the epoch that it replaces. */
  version: number;
  nodes: NewNode[];
  /** Those of `nodes` that the store lacks, children first. */
  made: NewNode[];
}

/** Converts a stored node to a new one. */
export function fresh(node: SummaryNode): NewNode {
  const { order: _, ...rest } = node;
  return rest;
}

/** The node, or a model's node of the same span when there is one by now. */
export function best(store: LosslessStore, node: SummaryNode): SummaryNode {
  if (node.origin !== "extractive" || isGap(node)) return node;
  return store.node(nodeId({ ...node, origin: "model" })) ?? node;
}

/** Limit on gaps that one epoch fills, in leaves: all are condensed synchronously. */
const MOST_FILLED = 128;

async function filled(
  store: LosslessStore,
  leaves: PreparedLeaves,
  node: SummaryNode,
): Promise<{ nodes: NewNode[]; made: NewNode[] }> {
  const { sessionId } = leaves;
  const first = store.locate(sessionId, node.firstEntryId);
  const last = store.locate(sessionId, node.lastEntryId);
  if (!first || !last) return { nodes: [fresh(node)], made: [] };
  const chain = leaves.between(first.position, last.position + 1, MOST_FILLED);
  const end = chain.at(-1);
  if (!end) return { nodes: [fresh(node)], made: [] };
  const next = (store.locate(sessionId, end.lastEntryId)?.position ?? last.position) + 1;
  if (next > last.position) return { nodes: chain.map(fresh), made: [] };
  const firstEntryId = store.at(sessionId, next)?.entryId ?? node.lastEntryId;
  const rest = await gapNode(store, sessionId, { firstEntryId, lastEntryId: node.lastEntryId });
  return { nodes: [...chain.map(fresh), rest], made: [rest] };
}

/** Splits a node over a gap into its parts when it can be filled by now; else returns the node itself. */
function gapParts(store: LosslessStore, leaves: PreparedLeaves, node: SummaryNode): SummaryNode[] {
  if (node.kind === "leaf") return [node];
  const parts = node.children.flatMap((id) => {
    const child = store.node(id);
    if (!child) return [];
    return isGap(child) ? gapParts(store, leaves, child) : [child];
  });
  const isReady = parts.some((part) => {
    const at = isGap(part) ? store.locate(leaves.sessionId, part.firstEntryId)?.position : undefined;
    return at !== undefined && leaves.has(at);
  });
  return isReady ? parts : [node];
}

/** The best available nodes of the current frontier; `of`: the replacements of each node. */
interface Present {
  nodes: NewNode[];
  made: NewNode[];
  of: Map<string, NewNode[]>;
}

async function present(store: LosslessStore, view: ViewState, leaves: PreparedLeaves): Promise<Present> {
  const nodes: NewNode[] = [];
  const made: NewNode[] = [];
  const of = new Map<string, NewNode[]>();
  for (const id of view.epoch ? store.frontier(view.sessionId, { details: false }).nodeIds : []) {
    const node = store.node(id);
    if (!node) continue;
    const first = nodes.length;
    for (const part of isGap(node) ? gapParts(store, leaves, node) : [node]) {
      const isOpen = isGap(part) && part.kind === "leaf";
      const now = isOpen
        ? await filled(store, leaves, part)
        : { nodes: [fresh(best(store, part))], made: [] };
      nodes.push(...now.nodes);
      made.push(...now.made);
    }
    of.set(id, nodes.slice(first));
  }
  return { nodes, made, of };
}

/** Position of the first entry that no node covers. */
export function uncoveredFrom(store: LosslessStore, sessionId: string, nodes: readonly NewNode[]): number {
  const last = nodes.at(-1);
  return last ? (store.locate(sessionId, last.lastEntryId)?.position ?? -1) + 1 : 0;
}

/** Spans of removed messages that no node covers yet. */
export async function leavingSpans(
  store: LosslessStore,
  view: ViewState,
  request: { cut: number; firstKeptEntryId: string },
): Promise<Present & { prepared: SummaryNode[]; spans: Span[] }> {
  const { sessionId } = view;
  const leaves = new PreparedLeaves(store, sessionId);
  const { nodes, made, of } = await present(store, view, leaves);
  let from = uncoveredFrom(store, sessionId, nodes);
  const items = view.items.slice(0, request.cut).map(original);
  const first = items[0];
  if (first && nodes.length === 0 && !view.complete) {
    const start = store.locate(sessionId, first.placeId)?.position ?? 0;
    const ends = [store.at(sessionId, 0)?.entryId, store.at(sessionId, start - 1)?.entryId];
    if (start > 0 && ends[0] !== undefined && ends[1] !== undefined) {
      const gap = await gapNode(store, sessionId, { firstEntryId: ends[0], lastEntryId: ends[1] });
      nodes.push(gap);
      made.push(gap);
      from = start;
    }
  }
  const until = store.locate(sessionId, request.firstKeptEntryId)?.position ?? from;
  const prepared = leaves.between(from, until);
  const start = Math.max(from, uncoveredFrom(store, sessionId, [...nodes, ...prepared.map(fresh)]));
  const at = items.findIndex(({ placeId }) => (store.locate(sessionId, placeId)?.position ?? 0) >= start);
  const rest = at < 0 ? [] : items.slice(at);
  const range = { from: start, until: request.firstKeptEntryId, leafTokens: LEAF_TOKENS };
  const spans = rest.length === 0 ? [] : spansOf(store, sessionId, rest, range);
  return { prepared, spans, nodes, made, of };
}

/** Limits on a head, uncorrected tokens, and what it shows of the user's messages. */
export function headLimits(
  facts: Epoch["facts"],
  { headTokens, userTokens, hidesTalk }: HeadSizes,
): { maxTokens: number; userTokens: number; hidesTalk: boolean } {
  return { maxTokens: headTokens, userTokens, hidesTalk: isTalk(facts) && hidesTalk };
}

const BAD_ENDS = {
  failed: "failed",
  aborted: "was aborted by the user",
  interrupted: "was cut off",
} as const;

function badEnds(store: LosslessStore, sessionId: string, items: readonly Item[]): string[] {
  const [first, last] = [items[0], items.at(-1)];
  if (!first || !last) return [];
  const page = store.range(sessionId, first.placeId, last.placeId, { kinds: ["turn_commit"], limit: 500 });
  return page.items.flatMap(({ entry }) => {
    if (entry?.type !== "turn_commit" || entry.outcome === "completed") return [];
    return [`The turn that ended with entry ${entry.parentId ?? entry.id} ${BAD_ENDS[entry.outcome]}`];
  });
}

export function messagesById(
  store: LosslessStore,
  view: ViewState,
  ids: readonly string[],
): Map<string, AgentMessage> {
  const messages = new Map<string, AgentMessage>();
  for (const { entryId, message } of store.getMany([...new Set(ids)], view.sessionId))
    if (message) messages.set(entryId, { ...message, entryId });
  return messages;
}

interface Leaving {
  /** The removed messages; the input of a turn that was split before is included once its turn is removed. */
  messages: AgentMessage[];
  /** The removed messages, with the input of a turn that is split now: it comes before the messages that stay. */
  spoken: AgentMessage[];
}

function leavingMessages(store: LosslessStore, view: ViewState, request: EpochRequest): Leaving {
  const spoken = view.items
    .slice(0, request.cut)
    .filter(({ isFragment }) => !isFragment)
    .map((item) => original(item).message);
  const messages = spoken.filter(({ entryId }) => entryId === undefined || entryId !== request.splitInputId);
  const earlier = view.epoch?.splitInputId;
  if (earlier === undefined || earlier === request.splitInputId) return { messages, spoken };
  const input = store.get(earlier, view.sessionId)?.message;
  return { messages: input ? [{ ...input, entryId: earlier }, ...messages] : messages, spoken };
}

/** The facts of the current epoch, with the lasting rules of all before its first kept entry. */
async function withLasting(store: LosslessStore, view: ViewState, pace: Pace): Promise<Facts> {
  const facts = view.epoch?.facts ?? NO_FACTS;
  const [first] = view.items;
  if (facts.lasting || !first) return facts;
  return { ...facts, lasting: await lastingBefore(store, view.sessionId, first.placeId, pace) };
}

/**
 * Drafts a new epoch without writing anything. Runs in slices: pass the `state()` of a view that other calls may change
 * meanwhile. Throws `turn_aborted` when the request's signal fires.
 */
export async function draftEpoch(
  store: LosslessStore,
  view: ViewState,
  request: EpochRequest,
): Promise<Draft> {
  const { sessionId } = view;
  const { cut, firstKeptEntryId, splitInputId, headTokens, focus, written, signal } = request;
  const { prepared, spans, nodes, made, of } = await leavingSpans(store, view, request);
  const limit = Math.floor((headTokens * NODE_SHARE) / SUMMARIES_PER_HEAD);
  const added = prepared.map(fresh);
  for (const span of spans) {
    const extract = await extractLeaf(sessionId, span, limit, { focus, signal });
    made.push(extract);
    const model = written?.get(extract.nodeId);
    if (model) made.push(model);
    added.push(model ?? extract);
  }
  const pace = new Pace(signal);
  const leaving = view.items.slice(0, cut);
  const before = await withLasting(store, view, pace);
  const { facts, news } =
    cut === 0
      ? { facts: before, news: NO_FACTS }
      : await gatherNews(
          before,
          {
            ...leavingMessages(store, view, request),
            badEnds: badEnds(store, sessionId, leaving),
            inTurn: splitInputId !== undefined,
          },
          pace,
        );
  if (pace.due) await pace.rest();
  // Pins of an abandoned branch are not shown; they apply again when the session returns to it.
  const pins = store
    .pins(sessionId)
    .flatMap(({ entryId }) => (store.locate(sessionId, entryId)?.onPath ? [entryId] : []));
  const rest = view.items.slice(cut).map(original);
  const kept = new Set(rest.map(({ entryId }) => entryId));
  const outside = pins.filter((id) => !kept.has(id));
  const head = await makeHead({
    sessionId,
    before: view.epoch,
    isNew: cut === 0 || focus !== undefined || splitInputId !== view.epoch?.splitInputId,
    facts,
    lasting: await stillLasting(facts.lasting, rest, pace),
    news,
    nodes,
    present: of,
    added,
    messages: messagesById(store, view, [...facts.users, ...outside]),
    pins: outside,
    ...headLimits(facts, request),
    leaving: leaving.reduce((sum, { tokens }) => sum + tokens, 0),
    signal,
    pace,
  });
  if (pace.due) await pace.rest();
  const closed = rest.filter(({ turnId }) => turnId === undefined || turnId !== request.liveTurnId);
  const stubs = stubsOf(closed, new Set(pins));
  const epoch: Epoch = {
    id: epochId(head.text, firstKeptEntryId, stubs),
    head: head.text,
    firstKeptEntryId,
    chapters: measured(head.chapters),
    pins: outside,
    ...defined({ splitInputId }),
    facts: head.facts,
    stubs,
    madeAt: store.session(sessionId)?.entries ?? 0,
    startTokens: 0,
  };
  const shown = rest.map((item) => stubbed(item, (key) => stubs[key]?.text));
  const startTokens = shown.reduce((sum, { tokens }) => sum + tokens, messageTokens(headMessage(epoch)));
  return {
    epoch: { ...epoch, startTokens },
    version: view.version,
    nodes: head.nodes,
    made: [...made, ...head.made],
  };
}

/**
 * Publishes a draft, unless another epoch was published meanwhile; reloads the view in any case. What it publishes is owed to the session's
 * log, unless it comes from there.
 */
export function publishDraft(
  store: LosslessStore,
  view: SessionView,
  draft: Draft,
  { now, isLogged = false }: { now: number; isLogged?: boolean },
): boolean {
  const { sessionId } = view;
  const published = store.transaction(() => {
    for (const node of draft.made)
      if (store.addNode(node) && !isLogged) store.owe(sessionId, "node", node.nodeId);
    const done = store.publishFrontier(sessionId, draft.version, {
      nodeIds: draft.nodes.map((node) => node.nodeId),
      firstKeptEntryId: draft.epoch.firstKeptEntryId,
      details: epochDetails(draft.epoch),
    });
    if (!done) return false;
    if (!isLogged) store.owe(sessionId, "epoch");
    const owed = new Set(store.debts({ sessionId }).map((debt) => debt.debtId));
    for (const node of draft.nodes) {
      if (node.origin !== "extractive" || isGap(node)) continue;
      if (store.node(nodeId({ ...node, origin: "model" }))) continue;
      const { firstEntryId, lastEntryId } = node;
      const debtId = `d${node.nodeId}`;
      if (owed.has(debtId)) continue;
      store.putDebt({
        debtId,
        sessionId,
        firstEntryId,
        lastEntryId,
        attempts: 0,
        nextAt: now,
        details: { nodeId: node.nodeId },
      });
    }
    return true;
  });
  view.load();
  return published;
}
