/**
 * The record of an epoch in its compaction's transcript entry: the published summaries and the collected facts, beside
 * the head. With it a lost database can be rebuilt with the same contexts, byte for byte.
 */
import type { CompactionEntry } from "../../contract/session/transcript.ts";
import { epochDetails, epochOf, type Epoch } from "./epoch.ts";
import type { Draft } from "./summary/publish.ts";
import type { NewNode } from "./store/store-types.ts";

/** Limit on recorded strings; the others are found again in later messages. */
const MOST_STRINGS = 400;
const VERSION = 1;

export interface EpochRecord {
  epoch: Epoch;
  /** Nodes of the frontier, oldest first. */
  frontier: string[];
  /** Nodes of the frontier, and those by a model below them; children first. */
  nodes: NewNode[];
}

/** `details` of the entry. JSON, a few ten KB at most. */
export function recordOf({ epoch, nodes, made }: Draft): Record<string, unknown> {
  // The head is the entry's summary.
  const { head: _, ...details } = epochDetails(epoch) as Record<string, unknown>;
  const facts = { ...epoch.facts, strings: epoch.facts.strings.slice(0, MOST_STRINGS) };
  const frontier = nodes.map(({ nodeId }) => nodeId);
  const below = made.filter(({ nodeId, origin }) => origin === "model" && !frontier.includes(nodeId));
  return {
    version: VERSION,
    epoch: { ...details, facts },
    frontier,
    nodes: [...below, ...nodes].map(({ sessionId: _session, ...node }) => node),
  };
}

/** Reads the record; undefined when the entry is not from this engine, or from a later version of it. */
export function readRecord(entry: CompactionEntry, sessionId: string): EpochRecord | undefined {
  const { summary, firstKeptEntryId } = entry;
  const details = (entry.details ?? {}) as Record<string, unknown>;
  const { version, epoch: written, frontier, nodes } = details;
  if (version !== VERSION || typeof written !== "object" || !Array.isArray(nodes)) return undefined;
  if (!Array.isArray(frontier) || !frontier.every((id) => typeof id === "string")) return undefined;
  const epoch = epochOf({
    version: 0,
    nodeIds: frontier,
    firstKeptEntryId,
    details: { ...written, head: summary },
  });
  const read = (nodes as readonly unknown[]).flatMap((node) =>
    isNode(node) ? [{ ...node, sessionId }] : [],
  );
  const known = new Set(read.map(({ nodeId }) => nodeId));
  return epoch && frontier.every((id) => known.has(id)) ? { epoch, frontier, nodes: read } : undefined;
}

function isNode(value: unknown): value is NewNode {
  if (typeof value !== "object" || value === null) return false;
  const node = value as Partial<NewNode>;
  const { nodeId, kind, origin, firstEntryId, lastEntryId, text, state } = node;
  return (
    [nodeId, kind, origin, firstEntryId, lastEntryId, text, state].every(
      (word) => typeof word === "string",
    ) &&
    [node.depth, node.tokens, node.sourceTokens].every((count) => Number.isSafeInteger(count)) &&
    Array.isArray(node.children)
  );
}
