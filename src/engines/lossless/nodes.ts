/** Summary nodes: their names, how spans become leaves, how leaves become fewer. Extractive, so without waiting for a model. */
import { summarizeExtractively } from "../../compaction/extract.ts";
import type { AgentMessage } from "../../contract/message.ts";
import { estimateTokens } from "../../tokens/estimate.ts";
import { hashOf } from "./epoch.ts";
import type { LosslessStore } from "./store/store.ts";
import type { NewNode, NodeKind, NodeOrigin, SummaryNode } from "./store/types.ts";
import type { Item } from "./view.ts";

/** Source tokens of a leaf. */
export const LEAF_TOKENS = 20_000;
/** A summary has at most this share of what it stands for. */
const LEAF_SHARE = 0.12;
const LEAST_NODE = 120;
const MOST_NODE = 1_600;
/** A head has room for about so many summaries of full size. */
export const PARTS = 3;
/** Nodes that become one. */
const FANOUT = 4;
/** Tokens of the beginning of a gap that its note is made of. */
const GAP_READ_TOKENS = 20_000;

/** One for the same summary of the same span, whoever makes it; another session's entries may have equal ids. */
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

/** Tokens that the summary of a span may have. */
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
 * Cuts consecutive items into spans that leave no entry between them: the first begins at position `from` of the
 * path, the last ends before the entry `until` (exclusive).
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

/** Throws `turn_aborted` when `signal` fires. */
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
    ...(focus === undefined ? {} : { focus }),
    ...(signal ? { signal } : {}),
  });
  const base = {
    sessionId,
    kind: "leaf",
    origin: "extractive",
    depth: 0,
    firstEntryId,
    lastEntryId,
  } as const;
  return {
    ...base,
    nodeId: nodeId({ ...base, focus }),
    children: [],
    text,
    tokens: estimateTokens(text),
    sourceTokens,
    state: "prepared",
  };
}

/** Stands for a long stretch that nobody has summarized yet: how it began, and that it can be searched. */
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
  const base = {
    sessionId,
    kind: "leaf",
    origin: "extractive",
    depth: 0,
    firstEntryId,
    lastEntryId,
  } as const;
  return {
    ...base,
    nodeId: nodeId({ ...base, focus: "gap" }),
    children: [],
    text,
    tokens: estimateTokens(text),
    sourceTokens: (last?.tokensUpTo ?? 0) - (first?.tokensUpTo ?? 0) + (first?.tokens ?? 0),
    state: "prepared",
    details: { gap: true },
  };
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
    previousSummary: children.map((child) => child.text).join("\n\n"),
    maxTokens,
    identifierPolicy: "off",
    ...(signal ? { signal } : {}),
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
    // The same span may have to become smaller again later on.
    nodeId: nodeId({ ...base, focus: String(maxTokens) }),
    children: children.map((child) => child.nodeId),
    text,
    tokens: estimateTokens(text),
    sourceTokens: children.reduce((sum, child) => sum + child.sourceTokens, 0),
    state: "prepared",
    ...(children.some(isGap) ? { details: { gap: true } } : {}),
  };
}

/** The oldest run of the lowest depth, at least two long, at most `FANOUT`; the two oldest where there is none. */
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
 * Condenses until the nodes fit; each new node is told to `made`. One node is shortened as far as need be. Throws
 * `turn_aborted` when `signal` fires.
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
    // A third: so several parts of different age stand beside one another.
    const most = fitted.length === 1 ? maxTokens : Math.max(LEAST_NODE, Math.floor(maxTokens / PARTS));
    const limit = Math.min(Math.floor(tokens / 2), most);
    if (limit < 1) break;
    const node = await condense(sessionId, children, limit, signal);
    made(node);
    fitted.splice(start, count, node);
    if (node.tokens >= tokens) break;
  }
  return fitted;
}
