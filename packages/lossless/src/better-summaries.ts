import type { LosslessSession } from "./lossless-session.ts";
import { PreparedLeaves } from "./summary/prepared-leaves.ts";
import { isGap, nodeId } from "./summary/summary-nodes.ts";

/** Whether better summaries than the shown ones are ready. */
export function hasBetterSummaries({ store, view }: LosslessSession): boolean {
  const leaves = new PreparedLeaves(store, view.sessionId);
  return store.frontier(view.sessionId, { details: false }).nodeIds.some((id) => {
    const node = store.node(id);
    if (node?.origin !== "extractive") return false;
    if (store.node(nodeId({ ...node, origin: "model" }))) return true;
    const from = store.locate(view.sessionId, node.firstEntryId)?.position ?? 0;
    return isGap(node) && leaves.has(from);
  });
}
