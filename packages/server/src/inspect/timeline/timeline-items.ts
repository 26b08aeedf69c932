/** One line of time for a session: turns, their model requests, compactions, rewinds, forks and degradations, oldest first. */
import type { InspectedRequest, RuntimeSwitch, TimelineItem } from "@pagurus/api/types";
import { asRecord, asString } from "@pagurus/core/data/record-fields";
import type { OutlineEntry, SessionOutline } from "./session-outline.ts";
import { defined } from "@pagurus/core/data/defined";

type TurnItem = Extract<TimelineItem, { kind: "turn" }>;

/** The items of one outline, which is read on: what was made of its entries is kept, as a session at work is looked at all the time. */
export class Timeline {
  readonly #outline: SessionOutline;
  /** Number of entries that are in the items. */
  #read = 0;
  readonly #turns = new Map<string, TurnItem>();
  /** The entry of a turn by which it is on the path or off it. */
  readonly #deciding = new Map<TurnItem, string>();
  readonly #others: TimelineItem[] = [];
  #path = new Set<string>();
  #leafId: string | null = null;

  constructor(outline: SessionOutline) {
    this.#outline = outline;
  }

  /** Oldest first. The outline and `requests` are up to date. */
  items(requests: readonly InspectedRequest[]): TimelineItem[] {
    this.#readOn();
    const runtimes = runtimesOf(requests);
    const items: TimelineItem[] = forkOf(this.#outline);
    for (const turn of this.#turns.values())
      items.push({ ...turn, runtimes: [...(runtimes.get(turn.turnId) ?? [])] });
    items.push(...this.#others);
    for (const request of requests)
      items.push({ id: `q${request.id}`, at: request.at, kind: "request", request });
    // Stable: a turn comes before its requests of the same millisecond.
    return items.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  }

  #readOn(): void {
    const { entries } = this.#outline;
    let isSamePath = true;
    for (; this.#read < entries.length; this.#read++) {
      const entry = entries[this.#read];
      if (!entry) continue;
      isSamePath &&= entry.type !== "rewind" && (entry.parentId === this.#leafId || this.#read === 0);
      this.#path.add(entry.id);
      this.#leafId = entry.id;
      const item = itemOf(entry);
      if (item) this.#others.push(item);
      this.#take(entry);
    }
    if (!isSamePath) this.#follow();
  }

  /** The path after a rewind or a branch. */
  #follow(): void {
    this.#path = new Set();
    this.#leafId = null;
    for (const { id } of this.#outline.pathBefore(this.#outline.entries.length)) {
      this.#path.add(id);
      this.#leafId ??= id;
    }
    for (const [turn, id] of this.#deciding) turn.onPath = this.#path.has(id);
  }

  #take(entry: OutlineEntry): void {
    const { id, at, turnId, role, snippet, outcome, code } = entry;
    if (turnId === undefined) return;
    let turn = this.#turns.get(turnId);
    if (!turn) {
      turn = {
        id: `t${turnId}`,
        at,
        kind: "turn",
        turnId,
        title: "",
        entries: 0,
        runtimes: [],
        onPath: true,
      };
      this.#turns.set(turnId, turn);
      this.#deciding.set(turn, id);
    }
    turn.entries += 1;
    if (role === "user" && turn.inputEntryId === undefined) {
      Object.assign(turn, { inputEntryId: id, title: snippet ?? "" });
      this.#deciding.set(turn, id);
    }
    if (outcome !== undefined) turn.outcome = outcome;
    if (code !== undefined) turn.code = code;
  }
}

/** Turns of the path that another runtime ran than the one before them; `items` oldest first. */
export function switchesOf(items: readonly TimelineItem[]): RuntimeSwitch[] {
  const switches: RuntimeSwitch[] = [];
  let from: string | undefined;
  for (const item of items) {
    if (item.kind !== "turn" || !item.onPath || item.inputEntryId === undefined) continue;
    const to = item.runtimes.at(-1);
    if (to === undefined) continue;
    if (from !== undefined && to !== from)
      switches.push({ turnId: item.turnId, inputEntryId: item.inputEntryId, from, to });
    from = to;
  }
  return switches;
}

/** Runtimes of each turn's own requests. */
function runtimesOf(requests: readonly InspectedRequest[]): Map<string, Set<string>> {
  const runtimes = new Map<string, Set<string>>();
  for (const { turnId, runtime, purpose } of requests) {
    if (turnId === undefined || purpose !== undefined) continue;
    const known = runtimes.get(turnId);
    if (known) known.add(runtime);
    else runtimes.set(turnId, new Set([runtime]));
  }
  return runtimes;
}

/**
 * The end of a line of time with about `most` items, from an outline of the session's end. `requests` gives those from a time on. Undefined
 * where no turn begins in the outline, or `requests` has no answer.
 */
export function newestItems(
  outline: SessionOutline,
  most: number,
  requests: (since: string) => readonly InspectedRequest[] | undefined,
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
    new Timeline(outline)
      .items(rows)
      .filter((item) => item.at >= first.at && !(item.kind === "turn" && item.turnId === cut))
  );
}

function forkOf({ header }: SessionOutline): TimelineItem[] {
  const parent = header?.parentSession;
  if (!header || !parent) return [];
  return [{ id: "fork", at: header.timestamp, kind: "fork", ...parent }];
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
      ...defined({ lane, trigger, handledBy }),
      origin,
      ...defined({ epoch }),
      tokensBefore,
      ...defined({ tokensAfter }),
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
      ...defined({ turnId }),
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
    ...defined({ trigger, handledBy }),
    tokensBefore: typeof data["tokensBefore"] === "number" ? data["tokensBefore"] : 0,
    ...(typeof after === "number" ? { tokensAfter: after } : {}),
    summaries: 0,
  };
}
