/** Reads a session's path: from its newest end, a range of it, single entries. Takes time in proportion to the result. */
import { StoreDamage } from "../damage.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import { positionOf } from "./entry-place.ts";
import { codesOf, COMPACTION, entryOf, infoOf, type EntryRow } from "./entry-rows.ts";
import { fillTemplate } from "./template.ts";
import { checkedEntry } from "../sums.ts";
import { sourceFor, sourceOf } from "./texts.ts";
import {
  depthOf,
  entryAt,
  entryMissing,
  parentOf,
  placesOf,
  requireSession,
  resolve,
  stretchesUp,
  type Paths,
  type SessionRow,
} from "./entry-tree.ts";
import type { EntryInfo, Page, PageOptions, StoredEntry, Walk, WalkOptions } from "../store-types.ts";
import { defined } from "@pagurus/core/data/defined";

const COLUMNS = "num, id, kind, tokens, total, time, turn, supersedes, body, sum";
const UP = `SELECT ${COLUMNS} FROM entries WHERE num BETWEEN ? AND ? ORDER BY num DESC LIMIT ?`;
const DOWN = `SELECT ${COLUMNS} FROM entries WHERE num BETWEEN ? AND ? ORDER BY num LIMIT ?`;
const NEWEST_COMPACTION = `SELECT max(num) AS num FROM entries WHERE kind = ${COMPACTION} AND num BETWEEN ? AND ?`;
/** Rows per read; a walk reads at most this many more than it returns. */
const CHUNK = 64;

type Columns = [
  num: number,
  id: string,
  kind: number,
  tokens: number,
  total: number,
  time: number,
  turn: string | null,
  supersedes: string | null,
  body: string,
  sum: number,
];

function entryRow([num, id, kind, tokens, total, time, turn, supersedes, body, sum]: Columns): EntryRow {
  return { num, id, kind, tokens, total, time, turn, supersedes, body, sum };
}

interface Placed {
  row: EntryRow;
  position: number;
}

/** Tolerance for sums of tokens, which need not be whole numbers. */
const ROUNDING = 0.5;

/**
 * Verifies a path row by row: each row is what was stored, none is missing, and each token sum is the previous sum plus
 * the row's own tokens. A missing or misplaced row fails one of the three checks.
 */
class Chain {
  /** Expected sum at the end of the next row (upwards) or at its start (downwards). */
  #total: number | undefined;

  up(row: EntryRow, place: number): EntryRow {
    this.#assert(row, place, row.total);
    this.#total = row.total - row.tokens;
    return row;
  }

  down(row: EntryRow, place: number): EntryRow {
    this.#assert(row, place, row.total - row.tokens);
    this.#total = row.total;
    return row;
  }

  /** Checks that the sum before the root is 0. */
  root(): void {
    if (Math.abs(this.#total ?? 0) > ROUNDING) throw new StoreDamage("The beginning of a path is missing.");
  }

  #assert(row: EntryRow, place: number, total: number): void {
    checkedEntry(row);
    if (row.num !== place) throw new StoreDamage(`The entry at ${place} is missing.`);
    if (this.#total !== undefined && Math.abs(this.#total - total) > ROUNDING)
      throw new StoreDamage(`The entry at ${place} does not follow the one before it.`);
  }
}

/** Rows of the path from the place upwards. Throws `StoreDamage`. */
function* rowsUp(db: Database, from: number | null): Generator<Placed> {
  const chain = new Chain();
  for (const { first, last, base } of stretchesUp(db, from)) {
    for (let end = last; end >= first;) {
      const rows = db.arrays<Columns>(UP, first, end, CHUNK);
      if (rows.length === 0) throw new StoreDamage(`The entry at ${end} is missing.`);
      for (const columns of rows) {
        const row = entryRow(columns);
        yield { row: chain.up(row, end), position: base + positionOf(row.num) };
        end -= 1;
      }
    }
  }
  chain.root();
}

function requirePlace(db: Database, session: SessionRow, id: string): number {
  const place = resolve(db, session.num, id);
  if (place === undefined) throw entryMissing(session.id, id);
  return place;
}

function collect(db: Database, session: SessionRow, options: WalkOptions): Walk<Placed> {
  const { kinds = ["message"], maxTokens = Infinity, maxMessages = Infinity } = options;
  const codes = codesOf(kinds);
  const items: Placed[] = [];
  let tokens = 0;
  let complete = true;
  const { before } = options;
  const start = before === undefined ? session.leaf : parentOf(db, requirePlace(db, session, before));
  for (const placed of rowsUp(db, start)) {
    const { row } = placed;
    if (row.id === options.after) break;
    if (!codes.has(row.kind)) continue;
    if (items.length >= maxMessages || (items.length > 0 && tokens + row.tokens > maxTokens)) {
      complete = false;
      break;
    }
    items.push(placed);
    tokens += row.tokens;
  }
  return { items: items.reverse(), tokens, complete };
}

/** Walks back from the newest end. Throws `session_not_found`, `entry_not_found`. */
export function walkBack(db: Database, sessionId: string, options: WalkOptions): Walk<StoredEntry> {
  return db.snapshot(() => {
    const walk = collect(db, requireSession(db, sessionId), options);
    return { ...walk, items: storedEntries(db, walk.items) };
  });
}

/** The newest compaction of the path, by an index of compactions. Throws `session_not_found`, `StoreDamage`. */
export function newestCompaction(db: Database, sessionId: string): StoredEntry | undefined {
  return db.snapshot(() => {
    const { leaf } = requireSession(db, sessionId);
    for (const { first, last, base } of stretchesUp(db, leaf)) {
      const found = db.get<{ num: number | null }>(NEWEST_COMPACTION, first, last)?.num ?? undefined;
      if (found === undefined) continue;
      const row = entryAt(db, found);
      if (row?.kind !== COMPACTION) throw new StoreDamage(`The compaction at ${found} is missing.`);
      return entryOf(row, base + positionOf(row.num), sourceOf(db));
    }
    return undefined;
  });
}

/** As `walkBack`, without contents. */
export function outlineBack(db: Database, sessionId: string, options: WalkOptions): Walk<EntryInfo> {
  return db.snapshot(() => {
    const walk = collect(db, requireSession(db, sessionId), options);
    return { ...walk, items: walk.items.map(({ row, position }) => infoOf(row, position)) };
  });
}

function storedEntries(db: Database, placed: readonly Placed[]): StoredEntry[] {
  const source = sourceFor(
    db,
    placed.map(({ row }) => row.body),
  );
  return placed.map(({ row, position }) => entryOf(row, position, source));
}

/** Rows from one position of the path to another, both inclusive, oldest first. */
function* rowsDown(
  db: Database,
  paths: Paths,
  session: SessionRow,
  from: number,
  to: number,
): Generator<Placed> {
  const chain = new Chain();
  for (const { base, first, last } of paths.stretches(session)) {
    const end = base + last - first;
    if (end < from || base > to) continue;
    const stop = Math.min(last, first + to - base);
    for (let at = Math.max(first, first + from - base); at <= stop;) {
      const rows = db.arrays<Columns>(DOWN, at, stop, CHUNK);
      if (rows.length === 0) throw new StoreDamage(`The entry at ${at} is missing.`);
      for (const columns of rows) {
        const row = entryRow(columns);
        yield { row: chain.down(row, at), position: base + positionOf(row.num) };
        at += 1;
      }
    }
  }
}

/** A span of entries, oldest first, in pages. Its ends may be off the active path, but must be on one branch. */
export function range(
  db: Database,
  paths: Paths,
  sessionId: string,
  span: { from: string; to: string },
  options: PageOptions,
): Page {
  return db.snapshot(() => {
    const session = requireSession(db, sessionId);
    const { branch, from, to } = spanOn(db, paths, session, {
      ...span,
      from: options.after ?? span.from,
    });
    const skip = options.after === undefined ? 0 : 1;
    return page(db, rowsDown(db, paths, branch, from + skip, to), options);
  });
}

/** Positions of a span, and the branch that ends with it: the active path where the span is on it. */
function spanOn(
  db: Database,
  paths: Paths,
  session: SessionRow,
  span: { from: string; to: string },
): { branch: SessionRow; from: number; to: number } {
  const to = requirePlace(db, session, span.to);
  const branch = paths.holds(session, to) ? session : { ...session, num: -session.num, leaf: to };
  return { branch, from: depthOf(db, requirePlace(db, session, span.from)), to: depthOf(db, to) };
}

function page(db: Database, rows: Iterable<Placed>, options: PageOptions): Page {
  const codes = codesOf(options.kinds ?? ["message"]);
  const { limit = 100, maxTokens = Infinity } = options;
  const items: Placed[] = [];
  let tokens = 0;
  for (const placed of rows) {
    const { row } = placed;
    if (!codes.has(row.kind)) continue;
    if (items.length >= limit || (items.length > 0 && tokens + row.tokens > maxTokens)) {
      const next = items.at(-1)?.row.id;
      return { items: storedEntries(db, items), ...defined({ next }) };
    }
    items.push(placed);
    tokens += row.tokens;
  }
  return { items: storedEntries(db, items) };
}

/** As `range`, without contents and without pages. */
export function outline(
  db: Database,
  paths: Paths,
  sessionId: string,
  span: { from: string; to: string },
  options: Pick<PageOptions, "kinds">,
): EntryInfo[] {
  return db.snapshot(() => {
    const session = requireSession(db, sessionId);
    const { branch, from, to } = spanOn(db, paths, session, span);
    const codes = codesOf(options.kinds ?? ["message"]);
    const items: EntryInfo[] = [];
    for (const { row, position } of rowsDown(db, paths, branch, from, to))
      if (codes.has(row.kind)) items.push(infoOf(row, position));
    return items;
  });
}

/** Place of an entry by its id, in one session or in any. */
export function findEntry(db: Database, entryId: string, sessionId?: string): number | undefined {
  if (sessionId === undefined) return placesOf(db, entryId)[0];
  return resolve(db, requireSession(db, sessionId).num, entryId);
}

export function getEntry(db: Database, entryId: string, sessionId?: string): StoredEntry | undefined {
  const place = findEntry(db, entryId, sessionId);
  const row = place === undefined ? undefined : entryAt(db, place);
  return row && entryOf(row, depthOf(db, row.num), sourceOf(db));
}

export function getEntries(db: Database, ids: readonly string[], sessionId?: string): StoredEntry[] {
  return db.snapshot(() => {
    const placed = ids.flatMap((id): Placed[] => {
      const place = findEntry(db, id, sessionId);
      const row = place === undefined ? undefined : entryAt(db, place);
      return row ? [{ row, position: depthOf(db, row.num) }] : [];
    });
    return storedEntries(db, placed);
  });
}

export function locate(
  db: Database,
  paths: Paths,
  sessionId: string,
  entryId: string,
): (EntryInfo & { onPath: boolean }) | undefined {
  return db.snapshot(() => {
    const session = requireSession(db, sessionId);
    const place = resolve(db, session.num, entryId);
    const row = place === undefined ? undefined : entryAt(db, place);
    return row && { ...infoOf(row, depthOf(db, row.num)), onPath: paths.holds(session, row.num) };
  });
}

export function infoAt(
  db: Database,
  paths: Paths,
  sessionId: string,
  position: number,
): EntryInfo | undefined {
  return db.snapshot(() => {
    const place = paths.at(requireSession(db, sessionId), position);
    const row = place === undefined ? undefined : entryAt(db, place);
    return row && infoOf(row, position);
  });
}

/** The JSON of a message, or of the whole entry for other kinds, byte for byte as ingested. */
export function getJson(db: Database, entryId: string, sessionId?: string): string | undefined {
  const place = findEntry(db, entryId, sessionId);
  const row = place === undefined ? undefined : entryAt(db, place);
  return row && fillTemplate(row.body, sourceOf(db));
}
