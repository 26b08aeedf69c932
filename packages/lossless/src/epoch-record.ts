/**
 * The record of an epoch in its compaction's transcript entry: the published summaries and the collected facts, beside
 * the head. With it a lost database can be rebuilt with the same contexts, byte for byte.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { CompactionEntry } from "@pagurus/contract/session/transcript";
import { epochDetails, epochOf, type Epoch, type StringUse } from "./epoch.ts";
import type { Draft } from "./summary/publish.ts";
import type { NewNode } from "./store/store-types.ts";

/** Strings that are recorded as they are; the others are compressed. */
const MOST_STRINGS = 400;
/** Limit on the others, bytes. */
const MOST_BYTES = 4 * 1024 * 1024;
const VERSION = 1;

/** What is read of an entry. */
export type RecordEntry = Pick<CompactionEntry, "summary" | "firstKeptEntryId" | "details">;

export interface EpochRecord {
  epoch: Epoch;
  /** Nodes of the frontier, oldest first. */
  frontier: string[];
  /** Nodes of the frontier, and those by a model below them; children first. */
  nodes: NewNode[];
}

/** `details` of the entry. JSON, a few ten KB at most. `made`: nodes that are recorded besides those of the frontier, children first. */
export function recordOf({ epoch, nodes, made }: Omit<Draft, "version">): Record<string, unknown> {
  // The head is the entry's summary.
  const { head: _, ...details } = epochDetails(epoch) as Record<string, unknown>;
  const { strings } = epoch.facts;
  const facts = { ...epoch.facts, strings: strings.slice(0, MOST_STRINGS) };
  const more = strings.slice(MOST_STRINGS).map(({ value, said, last }) => [value, said, last]);
  const frontier = nodes.map(({ nodeId }) => nodeId);
  const below = made.filter(({ nodeId }) => !frontier.includes(nodeId));
  return {
    version: VERSION,
    epoch: { ...details, facts },
    ...(more.length > 0 ? { strings: deflateRawSync(JSON.stringify(more)).toString("base64") } : {}),
    frontier,
    nodes: [...below, ...nodes].map(({ sessionId: _session, ...node }) => node),
  };
}

/** Reads the strings beyond the first; none where they are damaged: they are found again in later messages. */
function moreStrings(packed: unknown): StringUse[] {
  if (typeof packed !== "string") return [];
  try {
    const text = inflateRawSync(Buffer.from(packed, "base64"), { maxOutputLength: MOST_BYTES }).toString();
    return (JSON.parse(text) as [string, number, number][]).map(([value, said, last]) => ({
      value,
      said,
      last,
    }));
  } catch (error) {
    if (error instanceof Error) return [];
    throw error;
  }
}

/** Reads the record; undefined when the entry is not from this engine, or from a later version of it. */
export function readRecord(entry: RecordEntry, sessionId: string): EpochRecord | undefined {
  const { summary, firstKeptEntryId } = entry;
  const details = (entry.details ?? {}) as Record<string, unknown>;
  const { version, epoch: written, frontier, nodes, strings } = details;
  if (version !== VERSION || typeof written !== "object" || !Array.isArray(nodes)) return undefined;
  if (!Array.isArray(frontier) || !frontier.every((id) => typeof id === "string")) return undefined;
  const read = epochOf({
    version: 0,
    nodeIds: frontier,
    firstKeptEntryId,
    details: { ...written, head: summary },
  });
  const recorded = readNodes(nodes, sessionId);
  const known = new Set(recorded.map(({ nodeId }) => nodeId));
  if (!read || !frontier.every((id) => known.has(id))) return undefined;
  const facts = { ...read.facts, strings: [...read.facts.strings, ...moreStrings(strings)] };
  return { epoch: { ...read, facts }, frontier, nodes: recorded };
}

/** The nodes of a list; others than nodes are left out. */
export function readNodes(nodes: readonly unknown[], sessionId: string): NewNode[] {
  return nodes.flatMap((node) => (isNode(node) ? [{ ...node, sessionId }] : []));
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
