/** Summary nodes: ids, leaves from spans, condensing of leaves. Extractive, so without waiting for a model. */
import { summarizeExtractively } from "@pagurus/core/compaction/summary/extract";
import { factsOnly } from "@pagurus/core/compaction/summary/foreign-summary";
import type { AgentMessage } from "@pagurus/contract/message";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { hashOf } from "../epoch.ts";
import type { LosslessStore } from "../store/lossless-store.ts";
import type { NewNode, NodeKind, NodeOrigin, SummaryNode } from "../store/store-types.ts";
import type { Item } from "../session-in-memory.ts";
import { defined } from "@pagurus/core/data/defined";

/** Source tokens of a leaf. */
export const LEAF_TOKENS = 20_000;
/** Limit on a summary as a share of its source. */
const LEAF_SHARE = 0.12;
const LEAST_NODE = 120;
const MOST_NODE = 1_600;
/** Number of full-size summaries that fit a head. */
export const SUMMARIES_PER_HEAD = 3;
/** Minimum gain of condensing a model's summaries; otherwise each compaction would do it again. Tokens. */
const LEAST_CUT = 100;
/** The same as a share of a small summary. */
const LEAST_CUT_SHARE = 0.2;
/** Limit on nodes that are condensed into one. */
const FANOUT = 4;
/** Tokens read from the start of a gap for its note. */
const GAP_READ_TOKENS = 20_000;

/** Id of a node: equal for the same summary of the same span. Includes the session, since entry ids may repeat in others. */
export function nodeId(node: {
  sessionId: string;
  kind: NodeKind;
  origin: NodeOrigin;
  depth: number;
  firstEntryId: string;
  lastEntryId: string;
  focus?: string | undefined;
}): string {
  const { sessionId, kind, origin, depth, firstEntryId, lastEntryId, focus = "" } = node;
  return `s${hashOf(sessionId, kind, origin, String(depth), firstEntryId, lastEntryId, focus)}`;
}

/** Limit on the summary of a span, tokens. */
export function nodeTokens(sourceTokens: number): number {
  return Math.max(LEAST_NODE, Math.min(MOST_NODE, Math.floor(sourceTokens * LEAF_SHARE)));
}

export function isGap(node: SummaryNode | NewNode): boolean {
  const { details } = node;
  return typeof details === "object" && details !== null && "gap" in details;
}

/** A span of the path that becomes one leaf. */
export interface Span {
  firstEntryId: string;
  lastEntryId: string;
  messages: AgentMessage[];
  tokens: number;
}

/**
 * Splits consecutive items into spans without gaps: the first begins at position `from` of the path, the last ends
 * before the entry `until` (exclusive).
 */
export function spansOf(
  store: LosslessStore,
  sessionId: string,
  items: readonly Item[],
  range: { from: number; until: string; leafTokens: number },
): Span[] {
  const groups: Item[][] = [];
  let tokens = 0;
  for (const item of items) {
    const group = groups.at(-1);
    const full = tokens + item.tokens > range.leafTokens && item.message.role !== "toolResult";
    if (!group || full) {
      groups.push([item]);
      tokens = item.tokens;
    } else {
      group.push(item);
      tokens += item.tokens;
    }
  }
  const entryAt = (position: number): string => store.at(sessionId, position)?.entryId ?? "";
  const positionOf = (entryId: string): number => store.locate(sessionId, entryId)?.position ?? 0;
  let start = range.from;
  return groups.map((group, index) => {
    const next = groups[index + 1]?.[0]?.placeId ?? range.until;
    const end = positionOf(next);
    const span: Span = {
      firstEntryId: entryAt(start),
      lastEntryId: entryAt(end - 1),
      messages: group.filter(({ isFragment }) => !isFragment).map(({ message }) => message),
      tokens: group.reduce((sum, item) => sum + item.tokens, 0),
    };
    start = end;
    return span;
  });
}

/** Makes the extract of a span. Throws `turn_aborted` when `signal` fires. */
export async function extractLeaf(
  sessionId: string,
  span: Span,
  maxTokens: number,
  options: { focus?: string | undefined; signal?: AbortSignal | undefined } = {},
): Promise<NewNode> {
  const { focus, signal } = options;
  const { firstEntryId, lastEntryId, messages, tokens: sourceTokens } = span;
  const limit = Math.min(maxTokens, nodeTokens(sourceTokens));
  const text = await summarizeExtractively({
    messages,
    maxTokens: limit,
    identifierPolicy: "off",
    // Measured: facts of results cost more in each head than they are worth, and a model's summary replaces the extract.
    resultFacts: false,
    ...defined({ focus, signal }),
  });
  return extractedLeaf({ sessionId, firstEntryId, lastEntryId, text, sourceTokens }, focus);
}

/** Placeholder for a long span that is not summarized yet: shows its beginning, and that it can be searched. */
export async function gapNode(
  store: LosslessStore,
  sessionId: string,
  range: { firstEntryId: string; lastEntryId: string },
): Promise<NewNode> {
  const { firstEntryId, lastEntryId } = range;
  const page = store.range(sessionId, firstEntryId, lastEntryId, { limit: 200, maxTokens: GAP_READ_TOKENS });
  const messages = page.items.flatMap(({ message }) => (message ? [message] : []));
  const first = store.locate(sessionId, firstEntryId);
  const last = store.locate(sessionId, lastEntryId);
  const begun = await summarizeExtractively({ messages, maxTokens: 500, identifierPolicy: "off" });
  const count = (last?.position ?? 0) - (first?.position ?? 0) + 1;
  const note = `This part has ${count} entries and is not summarized yet; its words can be searched. It began so:`;
  const text = page.next === undefined ? begun : `${note}\n\n${begun}`;
  const sourceTokens = (last?.tokensUpTo ?? 0) - (first?.tokensUpTo ?? 0) + (first?.tokens ?? 0);
  const leaf = extractedLeaf({ sessionId, firstEntryId, lastEntryId, text, sourceTokens }, "gap");
  return { ...leaf, details: { gap: true } };
}

/** A prepared node of entries, with an extract of them. */
function extractedLeaf(
  span: Pick<NewNode, "sessionId" | "firstEntryId" | "lastEntryId" | "text" | "sourceTokens">,
  focus: string | undefined,
): NewNode {
  const node = { ...span, kind: "leaf", origin: "extractive", depth: 0 } as const;
  return {
    ...node,
    nodeId: nodeId({ ...node, focus }),
    children: [],
    tokens: estimateTokens(span.text),
    state: "prepared",
  };
}

/** Text of a node, in which another program's requests are what was asked then. */
function factsOf({ origin, text }: NewNode): string {
  return origin === "engine" ? factsOnly(text) : text;
}

async function condense(
  sessionId: string,
  children: readonly NewNode[],
  maxTokens: number,
  signal: AbortSignal | undefined,
): Promise<NewNode> {
  const first = children[0];
  const last = children.at(-1);
  const text = await summarizeExtractively({
    messages: [],
    previousSummary: children.map(factsOf).join("\n\n"),
    maxTokens,
    identifierPolicy: "off",
    ...defined({ signal }),
  });
  const base = {
    sessionId,
    kind: "condensed",
    origin: "extractive",
    depth: Math.max(...children.map(({ depth }) => depth)) + 1,
    firstEntryId: first?.firstEntryId ?? "",
    lastEntryId: last?.lastEntryId ?? "",
  } as const;
  return {
    ...base,
    // The same span may have to shrink again later.
    nodeId: nodeId({ ...base, focus: String(maxTokens) }),
    children: children.map((child) => child.nodeId),
    text,
    tokens: estimateTokens(text),
    sourceTokens: children.reduce((sum, child) => sum + child.sourceTokens, 0),
    state: "prepared",
    ...(children.some(isGap) ? { details: { gap: true } } : {}),
  };
}

/** The oldest run of the lowest depth, at least two long, at most `FANOUT`; the two oldest nodes when there is none. */
function runToCondense(nodes: readonly NewNode[]): { start: number; count: number } {
  const runs: { start: number; count: number; depth: number }[] = [];
  for (const [index, node] of nodes.entries()) {
    const run = runs.at(-1);
    if (run && run.depth === node.depth && run.count < FANOUT) run.count += 1;
    else runs.push({ start: index, count: 1, depth: node.depth });
  }
  const long = runs
    .filter(({ count }) => count > 1)
    .toSorted((a, b) => a.depth - b.depth || a.start - b.start);
  return long[0] ?? { start: 0, count: Math.min(2, nodes.length) };
}

/**
 * Condenses nodes until they fit; `made` is called with each new node. A single node is shortened as far as needed.
 * Throws `turn_aborted` when `signal` fires.
 */
export async function fitNodes(
  sessionId: string,
  nodes: readonly NewNode[],
  maxTokens: number,
  made: (node: NewNode) => void,
  signal?: AbortSignal,
): Promise<NewNode[]> {
  const fitted = [...nodes];
  const total = (): number => fitted.reduce((sum, node) => sum + node.tokens, 0);
  while (fitted.length > 0 && total() > maxTokens) {
    const { start, count } = runToCondense(fitted);
    const children = fitted.slice(start, start + count);
    const tokens = children.reduce((sum, child) => sum + child.tokens, 0);
    // A third, so that several parts of different age fit.
    const most =
      fitted.length === 1 ? maxTokens : Math.max(LEAST_NODE, Math.floor(maxTokens / SUMMARIES_PER_HEAD));
    const third = Math.min(Math.floor(tokens / 2), most);
    // An extract loses part of a model's summary, so it is shortened no more than necessary.
    const isModel = children.some(({ origin }) => origin === "model");
    const limit = isModel
      ? Math.max(third, tokens - Math.max(total() - maxTokens, Math.min(LEAST_CUT, tokens * LEAST_CUT_SHARE)))
      : third;
    if (limit < 1) break;
    const node = await condense(sessionId, children, limit, signal);
    made(node);
    fitted.splice(start, count, node);
    if (node.tokens >= tokens) break;
  }
  return fitted;
}
