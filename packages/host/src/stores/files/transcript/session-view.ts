/** One open session, shared by reader and writer: its file, the tree of its entries, and look-ups by id. */
import { closeSync, fstatSync, openSync } from "node:fs";
import { PagurusError } from "@pagurus/contract/errors";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { entryWithoutData, parseEntry } from "./transcript-entry.ts";
import { readFailure } from "../failures.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import {
  assertNoEntry,
  engineEntriesBefore,
  entryById,
  entryFrom,
  lastCompactionIn,
  segmentsOf,
  supersedingPlaces,
  sessionRow,
  type SessionRow,
  type KeyPosition,
} from "../index/index-rows.ts";
import { catchUpLines, indexLines, type IndexedLine } from "../index/indexer.ts";
import { linesBackward, linesForward, readAt } from "./transcript-lines.ts";
import type { SessionIndex } from "../index/session-index.ts";
import { PathTree, type Range } from "./transcript-tree.ts";
import { indexWords, wordLines } from "../index/indexed-words.ts";
import { defined } from "@pagurus/core/data/defined";

/** Bytes of older lines whose words a commit indexes besides its own; a search indexes the rest. */
const WORDS_SLICE = 32 * 1024;
/** Of the bytes that an update writes, the most that count for the words of earlier lines. */
const WORDS_MOST = 2 ** 20;
/** Rows of engines' entries that are looked up at a time. */
const ENGINE_PAGE = 32;

export interface Place {
  offset: number;
  length: number;
  type: string;
  /** Number of the line; 1 for the first after the header. */
  line: number;
  /** Messages before it on its branch. */
  messages: number;
}

/** The leaf after a rewind or a rewrite; `messages` are those up to it. */
export interface Leaf {
  id: string | null;
  end: number;
  messages: number;
}

export function leafAt(id: string | null, place: Place | undefined): Leaf {
  if (!place) return { id, end: 0, messages: 0 };
  return {
    id,
    end: place.offset + place.length,
    messages: place.messages + (place.type === "message" ? 1 : 0),
  };
}

export interface PlacedEntry {
  offset: number;
  length: number;
  entry: TranscriptEntry;
}

export class SessionView {
  readonly sessionId: string;
  readonly file: string;
  readonly tree: PathTree;
  /** Called when a line that was an entry is unreadable now; its row in the index names it. */
  onUnreadable: (() => void) | undefined;
  readonly #index: SessionIndex;
  readonly #keyPosition: (row: SessionRow) => KeyPosition;
  #row: SessionRow;
  #leafId: string | null;
  /** Messages on the path. */
  #messages: number;
  #size: number;
  #fd: number | undefined;
  /** Written but not indexed yet. */
  #pending: IndexedLine[] = [];
  #pendingPlaces = new Map<string, Place>();

  constructor(
    index: SessionIndex,
    row: SessionRow,
    file: string,
    keyPosition: (row: SessionRow) => KeyPosition,
  ) {
    this.#index = index;
    this.#row = row;
    this.file = file;
    this.sessionId = row.id;
    this.#keyPosition = keyPosition;
    this.#leafId = row.leaf_id;
    this.#messages = row.leaf_messages;
    this.#size = row.bytes;
    this.tree = new PathTree(
      // By its id: a rebuild of the index meanwhile assigns other numbers.
      index.use((db) => segmentsOf(db, (sessionRow(db, row.id) ?? row).num)),
      row.leaf_end,
    );
  }

  get sessionKey(): string {
    return this.#row.key;
  }

  get leafId(): string | null {
    return this.#leafId;
  }

  /** Bytes of the file that belong to the session, without a torn end. */
  get size(): number {
    return this.#size;
  }

  get epoch(): number {
    return this.#row.epoch;
  }

  /** Entries that are written and not indexed yet. */
  get pendingCount(): number {
    return this.#pending.length;
  }

  /** Throws `store_read_failed` after `close`: the system may reuse the descriptor for another file. */
  get fd(): number {
    if (this.#fd !== undefined) return this.#fd;
    throw new PagurusError("store_read_failed", `The session ${this.sessionId} was closed; open it again.`);
  }

  open(flags: string | number): void {
    try {
      this.#fd = openSync(this.file, flags);
    } catch (error) {
      throw readFailure(error, this.file);
    }
  }

  close(): void {
    this.onUnreadable = undefined;
    if (this.#fd === undefined) return;
    closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** True while the file is the one this view describes, so that it can be used again. */
  matches(row: SessionRow): boolean {
    return (
      row.num === this.#row.num &&
      row.bytes === this.#size &&
      row.leaf_id === this.#leafId &&
      this.#pending.length === 0
    );
  }

  /** Identity of the open file, to detect that it was replaced. */
  stat(): { size: number; nlink: number } {
    const { size, nlink } = fstatSync(this.fd);
    return { size, nlink };
  }

  record(): SessionRecord {
    const pending = this.#pending;
    const last = pending.at(-1);
    const row = this.#row;
    const updated = last && "entry" in last.content ? last.content.entry.timestamp : row.updated;
    let name = row.name;
    for (const { content } of pending)
      if ("entry" in content && content.entry.type === "session_info") name = content.entry.name ?? name;
    // Read from the index on demand: most callers only need the session's identity.
    let keyPosition: KeyPosition | undefined;
    const readPosition = (): KeyPosition => (keyPosition ??= this.#keyPosition(row));
    return {
      get current() {
        return readPosition().current;
      },
      get generation() {
        return readPosition().generation;
      },
      sessionKey: row.key,
      sessionId: row.id,
      file: this.file,
      cwd: row.cwd,
      createdAt: row.created,
      updatedAt: updated,
      entryCount: row.entries + pending.length,
      bytes: this.#size,
      ...defined({ name: name ?? undefined }),
    };
  }

  moveTo(leaf: Leaf): void {
    this.tree.moveTo(leaf.end);
    this.#leafId = leaf.id;
    this.#messages = leaf.messages;
  }

  /** Adds an entry that was just written at the end of the file; `leaf` when it moves the leaf. */
  added(entry: TranscriptEntry, bytes: Buffer, leaf: Leaf | undefined): Place {
    const place = {
      offset: this.#size,
      length: bytes.length,
      type: entry.type,
      line: this.#row.lines + this.#pending.length + 1,
      messages: leaf?.messages ?? this.#messages,
    };
    if (leaf) this.moveTo(leaf);
    else {
      if (entry.type === "message") this.#messages += 1;
      this.tree.extend(place.offset, place.length, this.tree.leafEnd);
      this.#leafId = entry.id;
    }
    this.#size += bytes.length;
    this.#pending.push({
      offset: place.offset,
      length: place.length,
      bytes: bytes.subarray(0, -1),
      content: { entry },
    });
    this.#pendingPlaces.set(entry.id, place);
    return place;
  }

  /** Indexes the written entries. With `lazily` a failure is only logged and made up for later. */
  flush(lazily = false): void {
    if (this.#pending.length === 0) return;
    const update = (db: Database): void => db.transaction(() => this.#indexPending(db));
    if (lazily) {
      if (!this.#index.attempt(update)) return;
    } else {
      this.#index.ensure(this.sessionId);
      this.#index.use(update);
    }
    this.#row = this.#index.use(sessionRow, this.sessionId) ?? this.#row;
    this.#pending = [];
    this.#pendingPlaces = new Map();
  }

  /** Runs a query on the index, including everything written. */
  ask<A extends unknown[], T>(question: (db: Database, session: number, ...args: A) => T, ...args: A): T {
    this.flush();
    return this.query(question, ...args);
  }

  /** Runs a query on the index as it is, without what was written since the last commit. */
  query<A extends unknown[], T>(question: (db: Database, session: number, ...args: A) => T, ...args: A): T {
    return this.#index.use((db) => question(db, (sessionRow(db, this.sessionId) ?? this.#row).num, ...args));
  }

  find(id: string): Place | undefined {
    return this.#pendingPlaces.get(id) ?? this.query(entryById, id);
  }

  /** The place of an entry, or if its line is lost that of the first entry written after it. */
  findFrom(id: string): Place | undefined {
    return this.find(id) ?? this.ask(entryAfterLost, id);
  }

  /** Rebuilds the session's index after it differed from the transcript. */
  reindex(): void {
    this.flush();
    this.#index.rebuild(this.sessionId);
  }

  /** As `findFrom`; for an entry that a rewrite took off the path, the one that replaced it. */
  findKept(id: string): Place | undefined {
    const place = this.findFrom(id);
    return place && this.#inPlaceOf(id, place);
  }

  /** As `find`, with the same exception. */
  findInput(id: string): Place | undefined {
    const place = this.find(id);
    return place && this.#inPlaceOf(id, place);
  }

  #inPlaceOf(id: string, place: Place): Place {
    if (this.tree.onPath(place.offset)) return place;
    const seen = new Set([id]);
    const ids = [id];
    for (let next = ids.shift(); next !== undefined; next = ids.shift()) {
      const of = next;
      for (const row of this.ask(supersedingPlaces, of)) {
        if (this.tree.onPath(row.offset)) return row;
        if (!seen.has(row.id)) ids.push(row.id);
        seen.add(row.id);
      }
    }
    return place;
  }

  /** The last compaction on the active path. */
  lastCompaction(): Place | undefined {
    return this.ask((db, session) => {
      for (const { start, end } of this.tree.path().toReversed()) {
        const row = lastCompactionIn(db, session, start, end);
        if (row) return row;
      }
      return undefined;
    });
  }

  /** The engines' entries and the compactions, on or off the path, newest first. Reads the index a page at a time. */
  *engineEntries(): Generator<PlacedEntry> {
    let before = Infinity;
    for (;;) {
      const rows = this.ask(engineEntriesBefore, Math.min(before, this.#size), ENGINE_PAGE);
      for (const { offset, length } of rows) {
        const entry = this.read({ offset, length });
        if (entry) yield { offset, length, entry };
      }
      before = rows.at(-1)?.offset ?? 0;
      if (rows.length < ENGINE_PAGE) return;
    }
  }

  /** The entry at a place; undefined when its bytes are no entry (they were changed since). */
  read({ offset, length }: { offset: number; length: number }): TranscriptEntry | undefined {
    return this.#parsed(offset, length, readAt(this.fd, offset, length - 1));
  }

  /** Records a line of the path that became unreadable, for the next notice. */
  #parsed(offset: number, length: number, bytes: Buffer): TranscriptEntry | undefined {
    const parsed = parseEntry(bytes);
    if ("entry" in parsed) return parsed.entry;
    const isNew = this.query((db, session) =>
      db.run(
        "INSERT OR IGNORE INTO unreadable (session, offset, length, problem) VALUES (?, ?, ?, ?)",
        session,
        offset,
        length,
        parsed.problem,
      ),
    );
    if (isNew > 0) this.onUnreadable?.();
    return undefined;
  }

  /** The entry at a place, or the newest one on the active path that supersedes it. */
  readNewest(place: { offset: number; length: number }): TranscriptEntry | undefined {
    const entry = this.read(place);
    if (!entry) return undefined;
    const newer = this.ask(supersedingPlaces, entry.id).find((row) => this.tree.onPath(row.offset));
    // A superseding line comes after the one it supersedes; anything else would be a loop.
    return newer && newer.offset > place.offset ? (this.readNewest(newer) ?? entry) : entry;
  }

  /** An entry by id, on or off the path. Offsets that another program made wrong are looked up again once. */
  get(id: string): TranscriptEntry | undefined {
    const place = this.find(id);
    if (!place) return undefined;
    const entry = this.read(place);
    if (entry?.id === id) return entry;
    this.#index.rebuild(this.sessionId);
    const moved = this.find(id);
    const found = moved && this.read(moved);
    return found?.id === id ? found : undefined;
  }

  /** Readable entries in ranges, first to last. */
  *forward(ranges: readonly Range[]): Generator<PlacedEntry> {
    for (const { start, end } of ranges) {
      for (const { offset, length, bytes } of linesForward(this, start, end)) {
        const entry = this.#parsed(offset, length, bytes);
        if (entry && entry.type !== "rewind") yield { offset, length, entry };
      }
    }
  }

  /** Readable entries in ranges, last to first. Long data of plugins is left out where `isNeeded` is false for its kind. */
  *backward(
    ranges: readonly Range[],
    isNeeded: (customType: string) => boolean = () => true,
  ): Generator<PlacedEntry> {
    for (const { start, end } of ranges.toReversed()) {
      for (const { offset, length, bytes } of linesBackward(this, start, end)) {
        const bare = entryWithoutData(bytes);
        const entry = bare && !isNeeded(bare.customType) ? bare : this.#parsed(offset, length, bytes);
        if (entry && entry.type !== "rewind") yield { offset, length, entry };
      }
    }
  }

  #indexPending(db: Database): void {
    const row = sessionRow(db, this.sessionId);
    const first = this.#pending[0];
    if (!row || !first) return;
    // The index is late when an earlier update failed: the lines come from the file.
    if (row.bytes < first.offset) catchUpLines(db, this.fd, this.#size, row);
    else indexLines(db, row.id, this.#pending, { words: true });
    if (row.words_bytes === row.bytes && row.bytes >= first.offset) return;
    // Lines before, which are read again for it: one with an image takes as long as all of a conversation without.
    const own = Math.min(this.#size - first.offset, WORDS_MOST);
    if (row.words_bytes < first.offset)
      indexWords(db, row.id, wordLines(this.fd, row.words_bytes, first.offset, own + WORDS_SLICE));
    else indexWords(db, row.id, pendingWords(this.#pending));
  }
}

function entryAfterLost(db: Database, session: number, id: string): Place | undefined {
  assertNoEntry(db, session, id);
  return entryFrom(db, session, id);
}

function* pendingWords(
  lines: readonly IndexedLine[],
): Generator<{ offset: number; length: number; entry: TranscriptEntry | undefined }> {
  for (const { offset, length, content } of lines)
    yield { offset, length, entry: "entry" in content ? content.entry : undefined };
}
