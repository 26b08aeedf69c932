/** One open session as reader and writer share it: its file, the tree of its entries, and look-ups by id. */
import { closeSync, fstatSync, openSync } from "node:fs";
import { PagurusError } from "../contract/errors.ts";
import type { SessionRecord } from "../contract/writer.ts";
import type { TranscriptEntry } from "../contract/transcript.ts";
import { parseEntry } from "./entry.ts";
import { readFailure } from "./failures.ts";
import type { IndexDb } from "./index-db.ts";
import {
  entryById,
  entryFrom,
  lastCompactionIn,
  segmentsOf,
  supersedingPlaces,
  sessionRow,
  type SessionRow,
  type Standing,
} from "./index-rows.ts";
import { catchUpLines, indexLines, type IndexedLine } from "./indexer.ts";
import { linesBackward, linesForward, readAt } from "./lines.ts";
import type { SessionIndex } from "./session-index.ts";
import { PathTree, type Range } from "./tree.ts";
import { indexWords, wordLines } from "./words.ts";

/** Bytes of older lines whose words a commit indexes beside its own; a search takes the rest. */
const WORDS_SLICE = 32 * 1024;

export interface Place {
  offset: number;
  length: number;
  type: string;
  /** Number of the line; 1 for the first behind the header. */
  line: number;
  /** Messages before it on its branch. */
  messages: number;
}

/** Where a rewind or a rewrite moves the leaf; `messages` are those up to it. */
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
  readonly #index: SessionIndex;
  readonly #standing: (row: SessionRow) => Standing;
  #row: SessionRow;
  #leafId: string | null;
  /** Messages on the path. */
  #messages: number;
  #size: number;
  #fd: number | undefined;
  /** Written but not indexed yet. */
  #pending: IndexedLine[] = [];
  #pendingPlaces = new Map<string, Place>();

  constructor(index: SessionIndex, row: SessionRow, file: string, standing: (row: SessionRow) => Standing) {
    this.#index = index;
    this.#row = row;
    this.file = file;
    this.sessionId = row.id;
    this.#standing = standing;
    this.#leafId = row.leaf_id;
    this.#messages = row.leaf_messages;
    this.#size = row.bytes;
    this.tree = new PathTree(
      index.use((db) => segmentsOf(db, row.num)),
      row.leaf_end,
    );
  }

  get sessionKey(): string {
    return this.#row.key;
  }

  get leafId(): string | null {
    return this.#leafId;
  }

  /** Bytes of the file that belong to the session, a torn end left out. */
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

  /** Throws `store_read_failed` after `close`: a number that the system gave to another file must not be read. */
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
    if (this.#fd === undefined) return;
    closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** True while the file is the one this view describes, so that it may be used again. */
  matches(row: SessionRow): boolean {
    return (
      row.num === this.#row.num &&
      row.bytes === this.#size &&
      row.leaf_id === this.#leafId &&
      this.#pending.length === 0
    );
  }

  /** Identity of the open file, for noticing that it was replaced. */
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
    // Asked of the index only where it is read: most callers want to know which session this is.
    let standing: Standing | undefined;
    const stand = (): Standing => (standing ??= this.#standing(row));
    return {
      get current() {
        return stand().current;
      },
      get generation() {
        return stand().generation;
      },
      sessionKey: row.key,
      sessionId: row.id,
      file: this.file,
      cwd: row.cwd,
      createdAt: row.created,
      updatedAt: updated,
      entryCount: row.entries + pending.length,
      bytes: this.#size,
      ...(name === null ? {} : { name }),
    };
  }

  moveTo(leaf: Leaf): void {
    this.tree.moveTo(leaf.end);
    this.#leafId = leaf.id;
    this.#messages = leaf.messages;
  }

  /** Takes an entry that was just written at the end of the file; `leaf` where it moves there. */
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

  /** Takes the written entries into the index. With `lazily` a failure is only logged and made up for later. */
  flush(lazily = false): void {
    if (this.#pending.length === 0) return;
    const update = (db: IndexDb): void => db.transaction(() => this.#indexPending(db));
    if (lazily) {
      if (!this.#index.attempt(update)) return;
    } else {
      this.#index.ensure(this.sessionId);
      this.#index.use(update);
    }
    this.#row = this.#index.use((db) => sessionRow(db, this.sessionId)) ?? this.#row;
    this.#pending = [];
    this.#pendingPlaces = new Map();
  }

  /** Runs a question on the index with all that was written in it. */
  ask<T>(question: (db: IndexDb, session: number) => T): T {
    this.flush();
    return this.query(question);
  }

  /** Runs a question on the index as it is, without what was written since the last commit. */
  query<T>(question: (db: IndexDb, session: number) => T): T {
    return this.#index.use((db) => question(db, (sessionRow(db, this.sessionId) ?? this.#row).num));
  }

  find(id: string): Place | undefined {
    return this.#pendingPlaces.get(id) ?? this.query((db, session) => entryById(db, session, id));
  }

  /** The place of an entry, or where its line is lost that of the first entry written after it. */
  findFrom(id: string): Place | undefined {
    return this.find(id) ?? this.ask((db, session) => entryFrom(db, session, id));
  }

  /** As `findFrom`; for an entry that a rewrite took off the path, the one that was written in its place. */
  findKept(id: string): Place | undefined {
    const place = this.findFrom(id);
    return place && this.#inPlaceOf(id, place);
  }

  /** As `find`, likewise. */
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
      for (const row of this.ask((db, session) => supersedingPlaces(db, session, of))) {
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

  /** The entry at a place; undefined when its bytes are no entry (another program changed the file). */
  read(place: { offset: number; length: number }): TranscriptEntry | undefined {
    const parsed = parseEntry(readAt(this.fd, place.offset, place.length - 1));
    return "entry" in parsed ? parsed.entry : undefined;
  }

  /** The entry at a place, or the newest one on the active path that supersedes it. */
  readNewest(place: { offset: number; length: number }): TranscriptEntry | undefined {
    const entry = this.read(place);
    if (!entry) return undefined;
    const newer = this.ask((db, session) => supersedingPlaces(db, session, entry.id)).find((row) =>
      this.tree.onPath(row.offset),
    );
    // A line that supersedes is behind the one it supersedes; anything else would be a loop.
    return newer && newer.offset > place.offset ? (this.readNewest(newer) ?? entry) : entry;
  }

  /** An entry by id, on or off the path. Offsets that another program made wrong are looked up anew once. */
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
      for (const { offset, length, bytes } of linesForward(this.fd, start, end)) {
        const parsed = parseEntry(bytes);
        if ("entry" in parsed && parsed.entry.type !== "rewind")
          yield { offset, length, entry: parsed.entry };
      }
    }
  }

  /** Readable entries in ranges, last to first. */
  *backward(ranges: readonly Range[]): Generator<PlacedEntry> {
    for (const { start, end } of ranges.toReversed()) {
      for (const { offset, length, bytes } of linesBackward(this.fd, start, end)) {
        const parsed = parseEntry(bytes);
        if ("entry" in parsed && parsed.entry.type !== "rewind")
          yield { offset, length, entry: parsed.entry };
      }
    }
  }

  #indexPending(db: IndexDb): void {
    const row = sessionRow(db, this.sessionId);
    const first = this.#pending[0];
    if (!row || !first) return;
    // Behind when an earlier update was not made: then the lines come from the file.
    if (row.bytes < first.offset) catchUpLines(db, this.fd, this.#size, row);
    else indexLines(db, row.id, this.#pending);
    const own = this.#size - first.offset;
    if (row.words_bytes < first.offset)
      indexWords(db, row.id, wordLines(this.fd, row.words_bytes, first.offset), own + WORDS_SLICE);
    else indexWords(db, row.id, pendingWords(this.#pending));
  }
}

function* pendingWords(
  lines: readonly IndexedLine[],
): Generator<{ offset: number; length: number; entry: TranscriptEntry | undefined }> {
  for (const { offset, length, content } of lines)
    yield { offset, length, entry: "entry" in content ? content.entry : undefined };
}
