/** Asserts that the sources of a frontier's nodes, through every depth, are a partition of its range. */
import assert from "node:assert/strict";
import type { LosslessStore } from "../../../../packages/lossless/src/store/lossless-store.ts";
import type { SummaryNode } from "../../../../packages/lossless/src/store/store-types.ts";

interface Span {
  from: number;
  to: number;
}

function spanOf(store: LosslessStore, sessionId: string, node: SummaryNode): Span {
  const first = store.locate(sessionId, node.firstEntryId);
  const last = store.locate(sessionId, node.lastEntryId);
  assert.ok(first?.onPath && last?.onPath, `${node.nodeId} covers entries off the path`);
  assert.ok(first.position <= last.position, `${node.nodeId} ends before it begins`);
  return { from: first.position, to: last.position };
}

/**
 * Leaves below a node, oldest first; a condensed node covers exactly the same entries as its children. A node restored
 * from the transcript may have no children: its span is its source.
 */
function leavesOf(store: LosslessStore, sessionId: string, node: SummaryNode): Span[] {
  const own = spanOf(store, sessionId, node);
  if (node.kind === "leaf") assert.equal(node.children.length, 0, `${node.nodeId} is a leaf with children`);
  if (node.children.length === 0) return [own];
  const leaves = node.children.flatMap((id) => {
    const child = store.node(id);
    assert.ok(child, `${id} below ${node.nodeId} is gone`);
    assert.ok(child.depth < node.depth, `${id} is no deeper than ${node.nodeId}`);
    return leavesOf(store, sessionId, child);
  });
  assertConsecutive(leaves, own.from, node.nodeId);
  assert.equal(leaves.at(-1)?.to, own.to, `${node.nodeId} covers more than its children`);
  return leaves;
}

function assertConsecutive(spans: readonly Span[], from: number, what: string): void {
  let next = from;
  for (const { from: start, to } of spans) {
    assert.equal(start, next, `${what}: a gap or an overlap at entry ${next}`);
    next = to + 1;
  }
}

/** Asserts that each entry before the first kept one has exactly one leaf; returns the number of leaves. */
export function assertPartition(store: LosslessStore, sessionId: string): number {
  const { nodeIds, firstKeptEntryId } = store.frontier(sessionId);
  const kept = firstKeptEntryId === null ? undefined : store.locate(sessionId, firstKeptEntryId);
  assert.ok(firstKeptEntryId === null || kept?.onPath, "the path has left what was kept");
  const leaves = nodeIds.flatMap((id) => {
    const node = store.node(id);
    assert.ok(node, `${id} of the frontier is gone`);
    assert.equal(node.state, "published");
    return leavesOf(store, sessionId, node);
  });
  assertConsecutive(leaves, 0, "the frontier");
  assert.equal((leaves.at(-1)?.to ?? -1) + 1, kept?.position ?? 0, "the kept messages begin elsewhere");
  return leaves.length;
}
