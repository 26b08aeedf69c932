/** What a request left out: entries of the session's path that it did not hold, and where each was instead. */
import type { Receipt } from "@pagurus/contract/session/receipt";
import type { OutlineEntry, SessionOutline } from "./session-outline.ts";
import type { CompactionRecord } from "./compaction-record.ts";

/**
 * `summarized`: a summary is in its place; `evicted`: it is in no request of this epoch, and no summary names it; `obsolete`: the
 * request had a short text in its place, since a later entry made it obsolete; `trimmed`: the request had a shorter form;
 * `off-path`: it was rewound or replaced before.
 */
export type LeftOutPlace = "summarized" | "evicted" | "obsolete" | "trimmed" | "off-path";

export interface LeftOutEntry {
  entryId: string;
  /** ISO 8601. */
  at: string;
  role: string;
  /** Bytes of its line in the transcript. */
  bytes: number;
  where: LeftOutPlace;
  /** The summary that covers it. */
  summaryId?: string;
  /** The compaction, or the entry that replaced it. */
  by?: string;
  trimmed?: { fromBytes: number; toBytes: number };
}

export interface LeftOutSum {
  where: LeftOutPlace;
  summaryId?: string;
  by?: string;
  entries: number;
  bytes: number;
  /** The oldest and the newest of them. */
  firstEntryId: string;
  lastEntryId: string;
}

type Asked = Pick<Receipt, "parts" | "epoch" | "timestamp">;

/** Oldest first. `outline` is up to date. */
export function leftOut(outline: SessionOutline, receipt: Asked): LeftOutEntry[] {
  const shown = new Set(receipt.parts.flatMap(({ entryId }) => entryId ?? []));
  const positions = [...shown].map((id) => outline.positionOf(id));
  const end = endOf(outline, positions, receipt.timestamp);
  const path = [...outline.pathBefore(end)];
  const compaction = compactionOf(path, receipt);
  const found = onPath(path, shown, compaction);
  const ids = new Set(path.map(({ id }) => id));
  return [
    ...offPath(outline, ids, { end, shown }),
    ...found,
    ...shortened(outline, receipt, compaction),
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

function compactionOf(path: readonly OutlineEntry[], { epoch }: Asked): CompactionRecord | undefined {
  const all = path.flatMap(({ compaction }) => compaction ?? []);
  return all.find((each) => each.epoch !== undefined && each.epoch === epoch) ?? all[0];
}

function isWords({ type }: OutlineEntry): boolean {
  return type === "message" || type === "custom_message";
}

function onPath(
  path: readonly OutlineEntry[],
  shown: ReadonlySet<string>,
  compaction: CompactionRecord | undefined,
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
        ...(summary ? { summaryId: summary.id } : {}),
        ...((isBefore || summary) && compaction ? { by: compaction.entryId } : {}),
      });
    if (summary?.firstEntryId === entry.id) summary = undefined;
    if (entry.id === compaction?.firstKeptEntryId) isBefore = true;
  }
  return found;
}

function factsOf({ id, at, role, customType, bytes }: OutlineEntry): Omit<LeftOutEntry, "where"> {
  return { entryId: id, at, role: role ?? customType ?? "custom", bytes };
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
      return { ...factsOf(entry), where: "off-path" as const, ...(by === undefined ? {} : { by }) };
    });
}

/** Entries that are in the request, but not whole. */
function shortened(
  outline: SessionOutline,
  { parts }: Asked,
  compaction: CompactionRecord | undefined,
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
        ...(summaryId === undefined ? {} : { summaryId }),
        ...(isOwn && by !== undefined ? { by } : {}),
        entries: 1,
        bytes,
        firstEntryId: entryId,
        lastEntryId: entryId,
      });
  }
  return [...sums.values()];
}
