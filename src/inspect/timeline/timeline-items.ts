/** One line of time for a session: turns, their model requests, compactions, rewinds, forks and degradations, oldest first. */
import { asRecord, asString } from "../../data/record-fields.ts";
import type { RequestRow } from "../requests/request-row.ts";
import type { OutlineEntry, SessionOutline } from "./session-outline.ts";

interface Item {
  /** Unique in the session; the cursor of a page. */
  id: string;
  /** ISO 8601. */
  at: string;
}

export type TimelineItem =
  | (Item & {
      kind: "turn";
      turnId: string;
      /** Beginning of the input. */
      title: string;
      inputEntryId?: string;
      entries: number;
      /** Absent while it runs. */
      outcome?: string;
      code?: string;
      /** Runtimes of its requests, in order. */
      runtimes: string[];
      /** False where it was rewound. */
      onPath: boolean;
    })
  | (Item & { kind: "request"; request: RequestRow })
  | (Item & {
      kind: "compaction";
      entryId: string;
      lane?: string;
      trigger?: string;
      handledBy?: string;
      origin?: string;
      epoch?: string;
      tokensBefore: number;
      tokensAfter?: number;
      summaries: number;
    })
  | (Item & { kind: "rewind"; targetId: string | null })
  | (Item & { kind: "fork"; sessionId: string; entryId: string })
  | (Item & { kind: "degradation"; turnId?: string; stage: string; reason: string });

/** `outline` and `requests` are up to date. */
export function timelineItems(outline: SessionOutline, requests: readonly RequestRow[]): TimelineItem[] {
  const items = [...forkOf(outline), ...turnsOf(outline, requests)];
  for (const entry of outline.entries) {
    const item = itemOf(entry);
    if (item) items.push(item);
  }
  for (const request of requests)
    items.push({ id: `q${request.id}`, at: request.at, kind: "request", request });
  // Stable: a turn comes before its requests of the same millisecond.
  return items.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

/**
 * The end of a line of time with about `most` items, from an outline of the session's end. `requests` gives those from a time on. Undefined
 * where no turn begins in the outline, or `requests` has no answer.
 */
export function newestItems(
  outline: SessionOutline,
  most: number,
  requests: (since: string) => readonly RequestRow[] | undefined,
): TimelineItem[] | undefined {
  const begun = new Map<string, OutlineEntry>();
  for (const entry of outline.entries)
    if (entry.turnId !== undefined && !begun.has(entry.turnId)) begun.set(entry.turnId, entry);
  // Its first turn may have begun before it.
  const [cut] = begun.keys();
  const whole = [...begun.values()].slice(1);
  // A turn has a request at least.
  const first = whole.at(-Math.ceil(most / 2)) ?? whole[0];
  const rows = first && requests(first.at);
  return (
    rows &&
    timelineItems(outline, rows).filter(
      (item) => item.at >= first.at && !(item.kind === "turn" && item.turnId === cut),
    )
  );
}

function forkOf({ header }: SessionOutline): TimelineItem[] {
  const parent = header?.parentSession;
  if (!header || !parent) return [];
  return [{ id: "fork", at: header.timestamp, kind: "fork", ...parent }];
}

function turnsOf(outline: SessionOutline, requests: readonly RequestRow[]): TimelineItem[] {
  const path = new Set<string>();
  for (const { id } of outline.pathBefore(outline.entries.length)) path.add(id);
  const runtimes = new Map<string, Set<string>>();
  for (const { turnId, runtime, purpose } of requests) {
    if (turnId === undefined || purpose !== undefined) continue;
    const known = runtimes.get(turnId);
    if (known) known.add(runtime);
    else runtimes.set(turnId, new Set([runtime]));
  }
  const turns = new Map<string, Extract<TimelineItem, { kind: "turn" }>>();
  for (const entry of outline.entries) {
    const { turnId, role, snippet, outcome, code } = entry;
    if (turnId === undefined) continue;
    let turn = turns.get(turnId);
    if (!turn) {
      turn = {
        id: `t${turnId}`,
        at: entry.at,
        kind: "turn",
        turnId,
        title: "",
        entries: 0,
        runtimes: [...(runtimes.get(turnId) ?? [])],
        onPath: path.has(entry.id),
      };
      turns.set(turnId, turn);
    }
    turn.entries += 1;
    if (role === "user" && turn.inputEntryId === undefined)
      Object.assign(turn, { inputEntryId: entry.id, title: snippet ?? "", onPath: path.has(entry.id) });
    if (outcome !== undefined) turn.outcome = outcome;
    if (code !== undefined) turn.code = code;
  }
  return [...turns.values()];
}

function itemOf(entry: OutlineEntry): TimelineItem | undefined {
  const { id, at, compaction, targetId, customType, turnId } = entry;
  if (compaction) {
    const { lane, trigger, handledBy, origin, epoch, tokensBefore, tokensAfter, summaries } = compaction;
    return {
      id,
      at,
      kind: "compaction",
      entryId: id,
      ...(lane === undefined ? {} : { lane }),
      ...(trigger === undefined ? {} : { trigger }),
      ...(handledBy === undefined ? {} : { handledBy }),
      origin,
      ...(epoch === undefined ? {} : { epoch }),
      tokensBefore,
      ...(tokensAfter === undefined ? {} : { tokensAfter }),
      summaries: summaries.length,
    };
  }
  if (entry.type === "rewind") return { id, at, kind: "rewind", targetId: targetId ?? null };
  const data = asRecord(entry.data) ?? {};
  if (customType === "pagurus.degraded")
    return {
      id,
      at,
      kind: "degradation",
      ...(turnId === undefined ? {} : { turnId }),
      stage: asString(data["stage"]) ?? "",
      reason: asString(data["reason"]) ?? "",
    };
  if (customType !== "pagurus.native_compaction" && customType !== "pagurus.engine_compaction")
    return undefined;
  const [trigger, handledBy] = [asString(data["trigger"]), asString(data["handledBy"])];
  const after = data["tokensAfter"];
  return {
    id,
    at,
    kind: "compaction",
    entryId: id,
    lane: asString(data["lane"]) ?? "harness",
    ...(trigger === undefined ? {} : { trigger }),
    ...(handledBy === undefined ? {} : { handledBy }),
    tokensBefore: typeof data["tokensBefore"] === "number" ? data["tokensBefore"] : 0,
    ...(typeof after === "number" ? { tokensAfter: after } : {}),
    summaries: 0,
  };
}
