/** What a request left out: entries of the session's path that it did not hold, and where each was instead. */
import type { InspectedCompaction, LeftOutEntry, LeftOutSum } from "@pagurus/api/types";
import type { Receipt } from "@pagurus/contract/session/receipt";
import type { OutlineEntry, SessionOutline } from "./session-outline.ts";
import { defined } from "@pagurus/core/data/defined";

type Asked = Pick<Receipt, "parts" | "epoch" | "timestamp">;

/** Oldest first. `outline` is up to date. */
export function leftOut(outline: SessionOutline, receipt: Asked): LeftOutEntry[] {
  const shown = new Set(receipt.parts.flatMap(({ entryId }) => entryId ?? []));
  const positions = [...shown].map((id) => outline.positionOf(id));
  const end = endOf(outline, positions, receipt.timestamp);
  const path = [...outline.pathBefore(end)];
  const compaction = compactionOfEpoch(path, receipt);
  const found = onPath(path, shown, compaction);
  const ids = new Set(path.map(({ id }) => id));
  return [
    ...offPath(outline, ids, { end, shown }),
    ...found,
    ...shortenedEntries(outline, receipt, compaction),
  ].toSorted((a, b) => outline.positionOf(a.entryId) - outline.positionOf(b.entryId));
}

/**
 * Position after the newest entry of the request, and after what else was written before it was sent, such as a compaction. An answer
 * may have the same time as the request.
 */
function endOf({ entries }: SessionOutline, positions: readonly number[], timestamp: string): number {
  let end = Math.max(-1, ...positions) + 1;
  const isBefore = ({ at, type }: OutlineEntry): boolean =>
    at <= timestamp && (end === 0 || type !== "message");
  for (let next = entries[end]; next && isBefore(next); next = entries[end]) end += 1;
  return end;
}

function compactionOfEpoch(path: readonly OutlineEntry[], { epoch }: Asked): InspectedCompaction | undefined {
  const all = path.flatMap(({ compaction }) => compaction ?? []);
  return all.find((each) => each.epoch !== undefined && each.epoch === epoch) ?? all[0];
}

function isWords({ type }: OutlineEntry): boolean {
  return type === "message" || type === "custom_message";
}

function onPath(
  path: readonly OutlineEntry[],
  shown: ReadonlySet<string>,
  compaction: InspectedCompaction | undefined,
): LeftOutEntry[] {
  const lasts = new Map(
    (compaction?.summaries ?? []).filter(({ isShown }) => isShown).map((each) => [each.lastEntryId, each]),
  );
  const found: LeftOutEntry[] = [];
  let isBefore = false;
  let summary: { id: string; firstEntryId: string } | undefined;
  for (const entry of path) {
    summary = lasts.get(entry.id) ?? summary;
    if (isWords(entry) && !shown.has(entry.id))
      found.push({
        ...factsOf(entry),
        where: isBefore || summary ? "summarized" : "evicted",
        ...defined({ summaryId: summary?.id }),
        ...((isBefore || summary) && compaction ? { by: compaction.entryId } : {}),
      });
    if (summary?.firstEntryId === entry.id) summary = undefined;
    if (entry.id === compaction?.firstKeptEntryId) isBefore = true;
  }
  return found;
}

function factsOf({ id, at, role, customType, bytes, snippet }: OutlineEntry): Omit<LeftOutEntry, "where"> {
  return { entryId: id, at, role: role ?? customType ?? "custom", bytes, ...defined({ words: snippet }) };
}

/** Entries written before the request that were not on its path: rewound, or replaced by another. */
function offPath(
  outline: SessionOutline,
  path: ReadonlySet<string>,
  { end, shown }: { end: number; shown: ReadonlySet<string> },
): LeftOutEntry[] {
  const before = outline.entries.slice(0, end);
  const replaced = new Map(
    before.flatMap(({ id, supersedes }) => (supersedes === undefined ? [] : [[supersedes, id] as const])),
  );
  return before
    .filter((entry) => isWords(entry) && !path.has(entry.id) && !shown.has(entry.id))
    .map((entry) => {
      const by = replaced.get(entry.id);
      return { ...factsOf(entry), where: "off-path" as const, ...defined({ by }) };
    });
}

/** Entries that are in the request, but not whole. */
function shortenedEntries(
  outline: SessionOutline,
  { parts }: Asked,
  compaction: InspectedCompaction | undefined,
): LeftOutEntry[] {
  const byEntry = new Map<string, string>();
  for (const [key, by] of Object.entries(compaction?.obsolete ?? {}))
    byEntry.set(key.replace(/\/.*$/s, ""), by);
  return parts.flatMap(({ entryId, trimmed }): LeftOutEntry[] => {
    const entry = entryId === undefined ? undefined : outline.get(entryId);
    if (!entry) return [];
    if (trimmed) return [{ ...factsOf(entry), where: "trimmed", trimmed }];
    const by = byEntry.get(entry.id);
    return by === undefined ? [] : [{ ...factsOf(entry), where: "obsolete", by }];
  });
}

/** Entries of the same place together, in the order of their first one. */
export function leftOutSums(entries: readonly LeftOutEntry[]): LeftOutSum[] {
  const sums = new Map<string, LeftOutSum>();
  for (const { entryId, where, summaryId, by, bytes } of entries) {
    const isOwn = where === "summarized" || where === "obsolete";
    const key = `${where} ${summaryId ?? ""} ${isOwn ? (by ?? "") : ""}`;
    const sum = sums.get(key);
    if (sum) Object.assign(sum, { entries: sum.entries + 1, bytes: sum.bytes + bytes, lastEntryId: entryId });
    else
      sums.set(key, {
        where,
        ...defined({ summaryId }),
        ...(isOwn && by !== undefined ? { by } : {}),
        entries: 1,
        bytes,
        firstEntryId: entryId,
        lastEntryId: entryId,
      });
  }
  return [...sums.values()];
}
