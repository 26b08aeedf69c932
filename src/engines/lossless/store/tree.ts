/** The trees of the sessions: chains of entries, who is on a session's active path, where an id stands. */
import { PagurusError } from "../../../contract/errors.ts";
import type { Db } from "./db.ts";
import { placeOf, positionOf, segmentOf } from "./place.ts";
import type { EntryRow } from "./rows.ts";

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
  /** Segments that hang together, and those of one session, have one tree. */
  tree: number;
  /** Place of the entry that the first one follows; null for a root. */
  parent: number | null;
  /** Entries above the first one. */
  base: number;
  length: number;
}

/** The part of a segment that lies on a path. */
export interface Stretch {
  segment: number;
  base: number;
  /** Place of the first and the last entry, both included. */
  first: number;
  last: number;
}

export function sessionRow(db: Db, sessionId: string): SessionRow | undefined {
  return db.get<SessionRow>("SELECT * FROM sessions WHERE id = ?", sessionId);
}

/** Throws `session_not_found`. */
export function requireSession(db: Db, sessionId: string): SessionRow {
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

export function segmentRow(db: Db, num: number): SegmentRow | undefined {
  return db.get<SegmentRow>("SELECT * FROM segments WHERE num = ?", num);
}

export function entryAt(db: Db, place: number): EntryRow | undefined {
  return db.get<EntryRow>("SELECT * FROM entries WHERE num = ?", place);
}

/** How many entries of a segment belong to the session; 0 for none. */
export function memberLength(db: Db, session: number, segment: number): number {
  return (
    db.get<{ length: number }>(
      "SELECT length FROM members WHERE session = ? AND segment = ?",
      session,
      segment,
    )?.length ?? 0
  );
}

/** Places of the entries with this id, of any session. */
export function placesOf(db: Db, id: string): number[] {
  return db.all<{ num: number }>("SELECT num FROM entries WHERE id = ?", id).map(({ num }) => num);
}

/** Where an entry of the session stands, on or off its path. */
export function resolve(db: Db, session: number, id: string): number | undefined {
  return placesOf(db, id).find((place) => memberLength(db, session, segmentOf(place)) > positionOf(place));
}

/** Entries above the one at `place`. */
export function depthOf(db: Db, place: number): number {
  return (segmentRow(db, segmentOf(place))?.base ?? 0) + positionOf(place);
}

/** The entry before it on its branch; null for a root. */
export function parentOf(db: Db, place: number): number | null {
  return positionOf(place) > 0 ? place - 1 : (segmentRow(db, segmentOf(place))?.parent ?? null);
}

/** The path's stretches, leaf to root, read as far as they are asked for. */
export function* stretchesUp(db: Db, leaf: number | null): Generator<Stretch> {
  for (let last = leaf; last !== null;) {
    const row = segmentRow(db, segmentOf(last));
    if (!row) return;
    yield { segment: row.num, base: row.base, first: placeOf(row.num, 0), last };
    last = row.parent;
  }
}

/** Paths of sessions as they were last asked for; a path changes only at its end or as a whole. */
export class Paths {
  readonly #db: Db;
  readonly #known = new Map<
    number,
    { leaf: number; stretches: Stretch[]; bySegment: Map<number, Stretch> }
  >();

  constructor(db: Db) {
    this.#db = db;
  }

  forget(): void {
    this.#known.clear();
  }

  /** Root to leaf. */
  stretches(session: SessionRow): readonly Stretch[] {
    return this.#path(session).stretches;
  }

  holds(session: SessionRow, place: number): boolean {
    const stretch = this.#path(session).bySegment.get(segmentOf(place));
    return stretch !== undefined && place <= stretch.last;
  }

  /** Place of the path's entry at a position; undefined behind its end. */
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
    // A store of many sessions keeps the newest paths.
    if (this.#known.size > 256) this.#known.delete(this.#known.keys().next().value ?? 0);
    return known;
  }
}

/** Trees that have entries of the session. */
export function treesOf(db: Db, session: number): number[] {
  return db
    .all<{ tree: number }>(
      "SELECT DISTINCT s.tree FROM members m JOIN segments s ON s.num = m.segment WHERE m.session = ?",
      session,
    )
    .map(({ tree }) => tree);
}

export interface Member {
  session: SessionRow;
  /** Entries of the segment that the session has. */
  length: number;
}

/** Sessions that have entries of a segment, oldest first. */
export function membersOf(db: Db, segment: number): Member[] {
  const rows = db.all<SessionRow & { length: number }>(
    `SELECT s.*, m.length FROM members m JOIN sessions s ON s.num = m.session
     WHERE m.segment = ? ORDER BY s.num`,
    segment,
  );
  return rows.map(({ length, ...session }) => ({ session, length }));
}
