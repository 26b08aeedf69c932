/** Leaves that are prepared and in no summary yet. */
import type { LosslessStore } from "../store/lossless-store.ts";
import type { SummaryNode } from "../store/store-types.ts";
import { isGap } from "./summary-nodes.ts";

/** Prefers a model's leaf to an extract, and a longer leaf to a shorter one. */
function isBetter(node: SummaryNode, known: SummaryNode): boolean {
  const byModel = node.origin === "model";
  if (byModel !== (known.origin === "model")) return byModel;
  return node.sourceTokens > known.sourceTokens;
}

/** The prepared leaves of a session, read once: there may be hundreds. */
export class PreparedLeaves {
  readonly sessionId: string;
  readonly #store: LosslessStore;
  #byStart: ReadonlyMap<string, SummaryNode> | undefined;

  constructor(store: LosslessStore, sessionId: string) {
    this.#store = store;
    this.sessionId = sessionId;
  }

  /** Consecutive leaves from a position on that end before another one (exclusive), at most so many. */
  between(from: number, before: number, most = Infinity): SummaryNode[] {
    const store = this.#store;
    const chain: SummaryNode[] = [];
    const byStart = (this.#byStart ??= this.#read());
    for (let position = from; position < before && chain.length < most && byStart.size > 0;) {
      const first = store.at(this.sessionId, position)?.entryId;
      const node = first === undefined ? undefined : byStart.get(first);
      const end = node && store.locate(this.sessionId, node.lastEntryId);
      if (!node || !end?.onPath || end.position >= before) break;
      chain.push(node);
      position = end.position + 1;
    }
    return chain;
  }

  /** Whether a leaf begins at a position. */
  has(position: number): boolean {
    return this.between(position, Infinity, 1).length > 0;
  }

  #read(): ReadonlyMap<string, SummaryNode> {
    const byStart = new Map<string, SummaryNode>();
    const filter = { depth: 0, state: "prepared", condensed: false } as const;
    for (const node of this.#store.nodes(this.sessionId, filter)) {
      if (isGap(node)) continue;
      const known = byStart.get(node.firstEntryId);
      if (!known || isBetter(node, known)) byStart.set(node.firstEntryId, node);
    }
    return byStart;
  }
}
