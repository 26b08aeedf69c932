/** Ingests entries: stores each once, at its place in the tree, with its texts, in the caller's transaction. */
import { rowSum } from "@pagurus/core/platform/row-sums";
import type { Database } from "@pagurus/core/data/sqlite";
import { placeOf, positionOf, SEGMENT_LIMIT, segmentOf } from "./entry-place.ts";
import type { Prepared, PreparedEntry } from "./prepare-entry.ts";
import { fillTemplate, jsonOf } from "./template.ts";
import { Keeper, sourceOf } from "./texts.ts";
import {
  entryAt,
  entryMissing,
  memberLength,
  parentOf,
  placesOf,
  resolve,
  segmentRow,
  treesOf,
  type SegmentRow,
  type SessionRow,
} from "./entry-tree.ts";
import type { IngestResult } from "../store-types.ts";

interface Tip {
  place: number;
  id: string;
  total: number;
}

/** A session's tree while entries are added to it; `finish` writes the changes. */
class Growth {
  readonly #db: Database;
  readonly #session: SessionRow;
  readonly #keeper: Keeper;
  #tip: Tip | undefined;
  /** The last used chain; `#grown` when it is longer than its stored length. */
  #segment: SegmentRow | undefined;
  #grown = false;
  stored = 0;
  known = 0;

  constructor(db: Database, session: SessionRow) {
    this.#db = db;
    this.#keeper = new Keeper(db);
    this.#session = session;
    if (session.leaf !== null) this.#tip = this.#tipAt(session.leaf);
  }

  get leafId(): string | null {
    return this.#tip?.id ?? null;
  }

  add(entry: Prepared): void {
    if ("rewindTo" in entry) {
      this.#moveTo(entry.rewindTo);
      return;
    }
    const places = placesOf(this.#db, entry.id);
    if (places.some((place) => this.#has(place))) {
      this.known += 1;
      return;
    }
    const parent = this.#parent(entry);
    const shared = this.#sharedWith(entry, parent, places);
    if (shared !== undefined) {
      this.known += 1;
      this.#flush();
      this.#join(shared);
      this.#tip = this.#tipAt(shared);
      return;
    }
    this.#store(entry, parent);
  }

  /** Writes the session's leaf and the lengths of its chains. */
  finish(): void {
    this.#flush();
    this.#db.run("UPDATE sessions SET leaf = ? WHERE num = ?", this.#tip?.place ?? null, this.#session.num);
  }

  #moveTo(targetId: string | null): void {
    if (targetId === null) {
      this.#tip = undefined;
      return;
    }
    const place = this.#resolve(targetId);
    if (place === undefined) throw entryMissing(this.#session.id, targetId);
    this.#tip = this.#tipAt(place);
  }

  #resolve(id: string): number | undefined {
    return placesOf(this.#db, id).find((place) => this.#has(place));
  }

  /** Whether the session has the entry at this place. */
  #has(place: number): boolean {
    const segment = segmentOf(place);
    const grown = this.#grown && this.#segment?.num === segment ? this.#segment.length : 0;
    return Math.max(grown, memberLength(this.#db, this.#session.num, segment)) > positionOf(place);
  }

  #parent({ parentId }: PreparedEntry): Tip | undefined {
    if (parentId === null) return undefined;
    if (this.#tip?.id === parentId) return this.#tip;
    const place = this.#resolve(parentId);
    if (place === undefined) throw entryMissing(this.#session.id, parentId);
    return this.#tipAt(place);
  }

  /** The row of another session (a fork's origin) with the same id, parent and content; `places` have the id. */
  #sharedWith(entry: PreparedEntry, parent: Tip | undefined, places: readonly number[]): number | undefined {
    const place = places.find((candidate) => parentOf(this.#db, candidate) === (parent?.place ?? null));
    const row = place === undefined ? undefined : entryAt(this.#db, place);
    if (!row) return undefined;
    const same = fillTemplate(row.body, sourceOf(this.#db)) === jsonOf(entry.cutting);
    return same ? place : undefined;
  }

  #store(entry: PreparedEntry, parent: Tip | undefined): void {
    const place = this.#placeAfter(parent);
    const total = (parent?.total ?? 0) + entry.tokens;
    const spot = { place, tree: this.#segment?.tree ?? 0 };
    const body = this.#keeper.keep(entry.cutting, spot);
    const { id, code: kind, tokens, time, turnId: turn, supersedes } = entry;
    const values = [place, id, kind, tokens, total, time, turn, supersedes, body];
    this.#db.run(
      "INSERT INTO entries (num, id, kind, tokens, total, time, turn, supersedes, body, sum) VALUES (?,?,?,?,?,?,?,?,?,?)",
      ...values,
      rowSum(...values),
    );
    this.#tip = { place, id: entry.id, total };
    this.stored += 1;
  }

  /** Next place: the end of the parent's chain when it is free, else the first place of a new chain. */
  #placeAfter(parent: Tip | undefined): number {
    if (parent) {
      const number = segmentOf(parent.place);
      if (this.#segment?.num !== number) {
        this.#flush();
        this.#segment = segmentRow(this.#db, number);
      }
      const next = positionOf(parent.place) + 1;
      if (this.#segment?.length === next && next < SEGMENT_LIMIT) {
        this.#segment.length = next + 1;
        this.#grown = true;
        return placeOf(number, next);
      }
    }
    const base = parent ? (this.#segment?.base ?? 0) + positionOf(parent.place) + 1 : 0;
    const tree = parent ? this.#segment?.tree : undefined;
    this.#flush();
    this.#segment = this.#newSegment(parent?.place ?? null, base, tree);
    this.#grown = true;
    return placeOf(this.#segment.num, 0);
  }

  #newSegment(parent: number | null, base: number, parentTree: number | undefined): SegmentRow {
    const inserted = this.#db
      .prepare("INSERT INTO segments (tree, parent, base, length) VALUES (?, ?, ?, 1)")
      .run(parentTree ?? 0, parent, base);
    const num = Number(inserted.lastInsertRowid);
    // A second root of the session joins the tree of the first one.
    const tree = parentTree ?? treesOf(this.#db, this.#session.num)[0] ?? num;
    if (parentTree === undefined) this.#db.run("UPDATE segments SET tree = ? WHERE num = ?", tree, num);
    return { num, tree, parent, base, length: 1 };
  }

  #tipAt(place: number): Tip | undefined {
    const row = entryAt(this.#db, place);
    return row && { place, id: row.id, total: row.total };
  }

  #flush(): void {
    const segment = this.#segment;
    this.#segment = undefined;
    if (!segment || !this.#grown) return;
    this.#grown = false;
    this.#db.run("UPDATE segments SET length = ? WHERE num = ?", segment.length, segment.num);
    this.#join(placeOf(segment.num, segment.length - 1));
  }

  /** Makes the chain up to this place part of the session. */
  #join(place: number): void {
    const segment = segmentOf(place);
    const length = positionOf(place) + 1;
    if (memberLength(this.#db, this.#session.num, segment) >= length) return;
    this.#db.run(
      `INSERT INTO members (session, segment, length) VALUES (?, ?, ?)
       ON CONFLICT (session, segment) DO UPDATE SET length = excluded.length`,
      this.#session.num,
      segment,
      length,
    );
  }
}

/**
 * Stores entries in input order; each one's parent is stored already or comes before it. An entry that the session has is
 * skipped, so storing a turn twice is a no-op. New texts are indexed later (`backlog.ts`). Call in a
 * transaction. Throws `entry_not_found` for an unknown parent.
 */
export function ingest(db: Database, session: SessionRow, entries: Iterable<Prepared>): IngestResult {
  const growth = new Growth(db, session);
  for (const entry of entries) growth.add(entry);
  growth.finish();
  return { stored: growth.stored, known: growth.known, leafId: growth.leafId };
}

/** Makes an entry of the session its leaf (null: an empty conversation). Throws `entry_not_found`. */
export function moveLeaf(db: Database, session: SessionRow, entryId: string | null): void {
  const place = entryId === null ? null : resolve(db, session.num, entryId);
  if (place === undefined) throw entryMissing(session.id, entryId ?? "");
  db.run("UPDATE sessions SET leaf = ? WHERE num = ?", place, session.num);
}
