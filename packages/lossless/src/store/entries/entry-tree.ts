/** Trees of sessions: chains of entries, active paths, and lookup of ids. */
import { PagurusError } from "@pagurus/contract/errors";
import type { Database } from "@pagurus/core/data/sqlite";
import { StoreDamage } from "../damage.ts";
import { placeOf, positionOf, segmentOf } from "./entry-place.ts";
import type { EntryRow } from "./entry-rows.ts";
import { checkedEntry, checkedRow } from "../sums.ts";

export interface SessionRow {
  num: number;
  id: string;
  key: string | null;
  leaf: number | null;
  adopted: number;
  state: string | null;
}

export interface SegmentRow {
  num: number;
  /** Connected segments, and those of one session, have the same tree. */
  tree: number;
  /** Place of the parent of its first entry; null for a root. */
  parent: number | null;
  /** Number of entries above the first one. */
  base: number;
  length: number;
}

/** The part of a segment that is on a path. */
export interface Stretch {
  segment: number;
  base: number;
  /** Places of the first and the last entry, both inclusive. */
  first: number;
  last: number;
}

export function sessionRow(db: Database, sessionId: string): SessionRow | undefined {
  const row = db.get<SessionRow>("SELECT * FROM sessions WHERE id = ?", sessionId);
  return row && checkedRow("sessions", row);
}

/** Row of a session. Throws `session_not_found`. */
export function requireSession(db: Database, sessionId: string): SessionRow {
  const row = sessionRow(db, sessionId);
  if (row) return row;
  throw new PagurusError(
    "session_not_found",
    `The lossless store has no session ${sessionId}; it takes one over when the session is opened.`,
    { details: { sessionId } },
  );
}

export function entryMissing(sessionId: string, entryId: string): PagurusError {
  return new PagurusError(
    "entry_not_found",
    `The lossless store has no entry ${entryId} of the session ${sessionId}; adopt the transcript again.`,
    { details: { sessionId, entryId } },
  );
}

export function segmentRow(db: Database, num: number): SegmentRow | undefined {
  const row = db.get<SegmentRow>("SELECT * FROM segments WHERE num = ?", num);
  return row && checkedRow("segments", row);
}

export function entryAt(db: Database, place: number): EntryRow | undefined {
  const row = db.get<EntryRow>("SELECT * FROM entries WHERE num = ?", place);
  return row && checkedEntry(row);
}

/** Number of a segment's entries that belong to the session. */
export function memberLength(db: Database, session: number, segment: number): number {
  return (
    db.get<{ length: number }>(
      "SELECT length FROM members WHERE session = ? AND segment = ?",
      session,
      segment,
    )?.length ?? 0
  );
}

/** Places of the entries with this id, of any session. */
export function placesOf(db: Database, id: string): number[] {
  return db.all<{ num: number }>("SELECT num FROM entries WHERE id = ?", id).map(({ num }) => num);
}

/** Place of an entry of the session, on or off its path. */
export function resolve(db: Database, session: number, id: string): number | undefined {
  return placesOf(db, id).find((place) => memberLength(db, session, segmentOf(place)) > positionOf(place));
}

/** Number of entries above the one at `place`. */
export function depthOf(db: Database, place: number): number {
  return (segmentRow(db, segmentOf(place))?.base ?? 0) + positionOf(place);
}

/** Depths for one answer: a segment's base never changes, and is read once. */
export class Depths {
  readonly #db: Database;
  readonly #bases = new Map<number, number>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Number of entries above the one at `place`. */
  of(place: number): number {
    const segment = segmentOf(place);
    let base = this.#bases.get(segment);
    if (base === undefined) {
      base = segmentRow(this.#db, segment)?.base ?? 0;
      this.#bases.set(segment, base);
    }
    return base + positionOf(place);
  }
}

/** Place of the parent; null for a root. */
export function parentOf(db: Database, place: number): number | null {
  return positionOf(place) > 0 ? place - 1 : (segmentRow(db, segmentOf(place))?.parent ?? null);
}

/** The path's stretches, from leaf to root, read lazily. */
export function* stretchesUp(db: Database, leaf: number | null): Generator<Stretch> {
  for (let last = leaf; last !== null;) {
    const row = segmentRow(db, segmentOf(last));
    if (!row) throw new StoreDamage(`The chain of the entry at ${last} is missing.`);
    yield { segment: row.num, base: row.base, first: placeOf(row.num, 0), last };
    last = row.parent;
  }
}

/** Cache of sessions' paths; a path changes only at its end or as a whole. */
export class Paths {
  readonly #db: Database;
  readonly #known = new Map<
    number,
    { leaf: number; stretches: Stretch[]; bySegment: Map<number, Stretch> }
  >();

  constructor(db: Database) {
    this.#db = db;
  }

  forget(): void {
    this.#known.clear();
  }

  /** Stretches from root to leaf. */
  stretches(session: SessionRow): readonly Stretch[] {
    return this.#path(session).stretches;
  }

  holds(session: SessionRow, place: number): boolean {
    const stretch = this.#path(session).bySegment.get(segmentOf(place));
    return stretch !== undefined && place <= stretch.last;
  }

  /** Place of the path's entry at a position; undefined after its end. */
  at(session: SessionRow, position: number): number | undefined {
    const { stretches } = this.#path(session);
    let low = 0;
    let high = stretches.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((stretches[middle]?.base ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    const stretch = stretches[low];
    if (!stretch || position < 0) return undefined;
    const place = stretch.first + position - stretch.base;
    return place <= stretch.last ? place : undefined;
  }

  #path(session: SessionRow): { stretches: Stretch[]; bySegment: Map<number, Stretch> } {
    const { leaf } = session;
    if (leaf === null) return { stretches: [], bySegment: new Map() };
    let known = this.#known.get(session.num);
    const end = known?.stretches.at(-1);
    if (known && end && end.segment === segmentOf(leaf)) {
      end.last = leaf;
      return known;
    }
    const stretches = [...stretchesUp(this.#db, leaf)].reverse();
    known = { leaf, stretches, bySegment: new Map(stretches.map((stretch) => [stretch.segment, stretch])) };
    this.#known.set(session.num, known);
    // Keeps only the newest paths.
    if (this.#known.size > 256) this.#known.delete(this.#known.keys().next().value ?? 0);
    return known;
  }
}

/** Trees with entries of the session. */
export function treesOf(db: Database, session: number): number[] {
  return db
    .all<{ tree: number }>(
      "SELECT DISTINCT s.tree FROM members m JOIN segments s ON s.num = m.segment WHERE m.session = ?",
      session,
    )
    .map(({ tree }) => tree);
}

export interface Member {
  session: SessionRow;
  /** Number of the segment's entries that the session has. */
  length: number;
}

/** Sessions with entries of a segment, oldest first. */
export function membersOf(db: Database, segment: number): Member[] {
  const rows = db.all<SessionRow & { length: number }>(
    `SELECT s.*, m.length FROM members m JOIN sessions s ON s.num = m.session
     WHERE m.segment = ? ORDER BY s.num`,
    segment,
  );
  return rows.map(({ length, ...session }) => ({ session, length }));
}
