/**
 * The archive of the keeper: `packs/` has every byte and every note, appended and never changed; `index.db` is made of them. A change is
 * there when its notes are in the packs, and in the index after the next `commit`. One process writes; others read.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { ensurePrivateDir } from "@pagurus/core/platform/atomic-files";
import { recordOf, parseJson } from "@pagurus/core/data/record-fields";
import type { Database } from "@pagurus/core/data/sqlite";
import { finishForgetting } from "./finish-forgetting.ts";
import { openIndex } from "./index-database.ts";
import { applyNote, readNote, type EventKind, type Note } from "./notes.ts";
import { PackFiles, type FoundRecord, type Place } from "./pack-files.ts";
import { BLOCK, blockRecord, contentOf, HEADER_BYTES, hashOf, NOTE, noteRecord } from "./records.ts";

/** Smaller content is compressed with an earlier block of its file as dictionary. */
const SMALL_BYTES = 16 * 1024;
/** A dictionary that is smaller than this helps little. */
const DICTIONARY_BYTES = 1024;
/** Newest extents of a file among which the dictionary is chosen. */
const DICTIONARY_LOOKS = 24;
/** Blocks whose content is kept in memory for the next read. */
const CACHED_BLOCKS = 16;

export interface FileRow {
  id: number;
  agent: string;
  path: string;
  state: "there" | "gone";
  version: number;
  size: number;
  first_at: number;
  last_at: number;
  /** The source's size and times at the last look; empty: to be compared in full. */
  stat: string;
  inode: string;
}

export interface VersionRow {
  version: number;
  at: number;
  /** Bytes at its beginning that it shares with the version before. */
  shared: number;
  size: number;
}

export interface EventRow {
  id: number;
  at: number;
  kind: EventKind;
  file: number;
  agent: string;
  path: string;
  /** Bytes that the source no longer has. */
  bytes: number;
}

interface BlockRow {
  pack: number;
  offset: number;
  length: number;
  has_dictionary: number;
}

interface Extent {
  offset: number;
  length: number;
  hash: Uint8Array;
}

export class Archive {
  readonly index: Database;
  /** Bytes of the packs that were skipped as damaged when they were read. */
  damaged = 0;
  readonly #packs: PackFiles;
  readonly #cache = new Map<string, Buffer>();
  #isChanging = false;
  /** Marks of deleted files, once they were asked for. */
  #forgotten: ReadonlySet<string> | undefined;

  private constructor(index: Database, packs: PackFiles) {
    this.index = index;
    this.#packs = packs;
  }

  /** Opens the archive of a folder, and makes it where it is missing. Throws `store_write_failed`, `store_read_failed`. */
  static open(folder: string): Archive {
    ensurePrivateDir(folder);
    finishForgetting(folder);
    const archive = new Archive(
      openIndex(folder, true),
      new PackFiles(join(folder, "packs"), { writable: true }),
    );
    archive.#recover();
    return archive;
  }

  /** Opens it for reading, beside its writer. Throws the system's and SQLite's errors when it is missing. */
  static look(folder: string): Archive {
    return new Archive(openIndex(folder, false), new PackFiles(join(folder, "packs"), { writable: false }));
  }

  /** Applies what a process wrote before it ended without a commit, and cuts what it was writing. */
  #recover(): void {
    const mark = this.index.get<Place>("SELECT pack, offset FROM marks WHERE name = 'index'");
    const damaged = (bytes: number): void => void (this.damaged += bytes);
    let end: Place = mark ?? { pack: 1, offset: 0 };
    this.#change();
    for (const record of this.#packs.recordsFrom(end, damaged)) {
      this.#take(record);
      end = { pack: record.pack, offset: record.offset + HEADER_BYTES + record.payload.length };
    }
    this.#packs.cut(end);
    this.commit();
  }

  #take(record: FoundRecord): void {
    const { head, payload, pack, offset } = record;
    if (head.kind === BLOCK) this.#addBlock(hashOf(payload), { pack, offset }, head.plain, head.codec === 2);
    if (head.kind !== NOTE) return;
    const content = contentOf(head, payload, (hash) => this.block(hash));
    const note = readNote(recordOf(parseJson(content.toString("utf8"))));
    if (note) applyNote(this.index, note);
  }

  #addBlock(hash: Uint8Array, { pack, offset }: Place, length: number, hasDictionary: boolean): void {
    this.index.run(
      "INSERT OR IGNORE INTO blocks VALUES (?, ?, ?, ?, ?)",
      hash,
      pack,
      offset,
      length,
      hasDictionary ? 1 : 0,
    );
  }

  #change(): void {
    if (this.#isChanging) return;
    this.index.raw.exec("BEGIN IMMEDIATE");
    this.#isChanging = true;
  }

  #note(note: Note): void {
    this.#change();
    this.#packs.append(noteRecord(note));
    applyNote(this.index, note);
  }

  /** Brings all changes to the disk, and then into the index. Throws `store_write_failed`; the archive has to be opened again then. */
  commit(): void {
    if (!this.#isChanging) return;
    this.#packs.sync();
    const { pack, offset } = this.#packs.end;
    this.index.run("INSERT OR REPLACE INTO marks VALUES ('index', ?, ?)", pack, offset);
    this.index.raw.exec("COMMIT");
    this.#isChanging = false;
  }

  addFile(agent: string, path: string, at: number): FileRow {
    const last = this.index.get<{ id: number | null }>("SELECT max(id) AS id FROM files")?.id ?? 0;
    this.#note({ type: "file", file: last + 1, agent, path, at });
    return this.file(last + 1);
  }

  /** Adds bytes to the end of the file's newest version. */
  grow(file: FileRow, contents: readonly Buffer[], at: number): void {
    const hashes = contents.map((content) => this.#keep(file, content));
    this.#note({
      type: "grow",
      file: file.id,
      version: file.version,
      from: file.size,
      blocks: Buffer.concat(hashes).toString("base64"),
      lengths: contents.map(({ length }) => length),
      at,
    });
  }

  /** Stores content that the archive has not yet; returns its hash. */
  #keep(file: FileRow, content: Buffer): Buffer {
    const hash = createHash("sha256").update(content).digest();
    if (this.#blockRow(hash)) return hash;
    this.#change();
    const dictionary = content.length < SMALL_BYTES ? this.#dictionary(file, content.length) : undefined;
    const place = this.#packs.append(blockRecord(hash, content, dictionary));
    this.#addBlock(hash, place, content.length, dictionary !== undefined);
    return hash;
  }

  /** A block of the same file: its lines have the same keys. */
  #dictionary(file: FileRow, length: number): { hash: Uint8Array; content: Uint8Array } | undefined {
    const best = this.index.get<{ hash: Uint8Array; length: number }>(
      `SELECT e.hash AS hash, e.length AS length FROM
         (SELECT hash, length FROM extents WHERE file = ? ORDER BY version DESC, offset DESC LIMIT ?) e
       JOIN blocks b ON b.hash = e.hash WHERE b.has_dictionary = 0 ORDER BY e.length DESC LIMIT 1`,
      file.id,
      DICTIONARY_LOOKS,
    );
    if (!best || best.length < Math.max(DICTIONARY_BYTES, length / 2)) return undefined;
    return { hash: best.hash, content: this.block(Buffer.from(best.hash)) };
  }

  /** The source has other bytes from `shared` on: they follow with `grow`. */
  startVersion(file: FileRow, shared: number, at: number): void {
    this.#note({ type: "version", file: file.id, version: file.version + 1, shared, at });
  }

  addEvent(
    kind: EventKind,
    file: FileRow,
    { bytes = 0, path = file.path }: { bytes?: number; path?: string },
    at: number,
  ): void {
    this.#note({ type: "event", kind, file: file.id, path, bytes, at });
  }

  /** All records, in the order in which they were written. */
  records(): Generator<FoundRecord> {
    return this.#packs.recordsFrom({ pack: 1, offset: 0 });
  }

  /** Whether the user has deleted a file with this mark, so that it is not kept again. */
  isForgotten(mark: string): boolean {
    const kind: EventKind = "forgotten";
    this.#forgotten ??= new Set(
      this.index
        .all<{ path: string }>("SELECT path FROM events WHERE kind = ?", kind)
        .map(({ path }) => path),
    );
    return this.#forgotten.has(mark);
  }

  /** Remembers how the source looked when all of it was kept. Not in the packs: without it the source is compared in full. */
  setStat(file: number, stat: string, inode: string): void {
    this.#change();
    this.index.run("UPDATE files SET stat = ?, inode = ? WHERE id = ?", stat, inode, file);
  }

  /** Throws `store_read_failed` for an id that the archive has not. */
  file(id: number): FileRow {
    const row = this.index.get<FileRow>("SELECT * FROM files WHERE id = ?", id);
    if (!row) throw missing(`file ${id}`);
    return row;
  }

  /** The file that is, or was last, at a path. */
  fileAt(path: string): FileRow | undefined {
    return this.index.get<FileRow>(
      "SELECT * FROM files WHERE path = ? ORDER BY state = 'there' DESC, id DESC LIMIT 1",
      path,
    );
  }

  files(): FileRow[] {
    return this.index.all<FileRow>("SELECT * FROM files ORDER BY id");
  }

  versions(file: number): VersionRow[] {
    return this.index.all<VersionRow>(
      "SELECT version, at, shared, size FROM versions WHERE file = ? ORDER BY version",
      file,
    );
  }

  events(after = 0): EventRow[] {
    return this.index.all<EventRow>(
      "SELECT * FROM events WHERE id > ? AND kind <> 'forgotten' ORDER BY id",
      after,
    );
  }

  /** The bytes of a version of a file, from `from` to before `to`, in pieces. */
  *read(file: number, version: number, from: number, to: number): Generator<Buffer> {
    const row = this.index.get<VersionRow>(
      "SELECT version, at, shared, size FROM versions WHERE file = ? AND version = ?",
      file,
      version,
    );
    if (!row) return;
    if (from < row.shared) yield* this.read(file, version - 1, from, Math.min(to, row.shared));
    const extents = this.index.all<Extent>(
      `SELECT offset, length, hash FROM extents WHERE file = ?1 AND version = ?2 AND offset < ?4 AND offset >=
         coalesce((SELECT max(offset) FROM extents WHERE file = ?1 AND version = ?2 AND offset <= ?3), 0)
       ORDER BY offset`,
      file,
      version,
      from,
      to,
    );
    for (const { offset, length, hash } of extents) {
      if (offset + length <= from) continue;
      yield this.block(Buffer.from(hash)).subarray(Math.max(0, from - offset), Math.min(length, to - offset));
    }
  }

  /** All bytes of a version, or a part of them. */
  bytes(file: number, version: number, from = 0, to = Number.MAX_SAFE_INTEGER): Buffer {
    return Buffer.concat([...this.read(file, version, from, to)]);
  }

  /** Extents that a version does not share with the one before. */
  extents(file: number, version: number): Extent[] {
    return this.index.all<Extent>(
      "SELECT offset, length, hash FROM extents WHERE file = ? AND version = ? ORDER BY offset",
      file,
      version,
    );
  }

  #blockRow(hash: Uint8Array): BlockRow | undefined {
    return this.index.get<BlockRow>(
      "SELECT pack, offset, length, has_dictionary FROM blocks WHERE hash = ?",
      hash,
    );
  }

  /** The content of a block. Throws `store_read_failed` for a damaged one. */
  block(hash: Buffer): Buffer {
    const key = hash.toString("base64");
    const known = this.#cache.get(key);
    if (known) return known;
    const row = this.#blockRow(hash);
    if (!row) throw missing(`block ${hash.toString("hex")}`);
    const { head, payload } = this.#packs.read(row);
    const content = contentOf(head, payload, (base) => this.block(Buffer.from(base)));
    if (this.#cache.size >= CACHED_BLOCKS) this.#cache.delete(this.#cache.keys().next().value ?? "");
    this.#cache.set(key, content);
    return content;
  }

  /** Bytes of the packs. */
  get storedBytes(): number {
    return this.#packs.bytes();
  }

  /** Ends without a commit: what was not committed is applied when the archive is opened next. */
  close(): void {
    if (this.#isChanging) this.index.raw.exec("ROLLBACK");
    this.#packs.close();
    this.index.close();
  }
}

function missing(what: string): PagurusError {
  return new PagurusError(
    "store_read_failed",
    `The archive has no ${what}: a part of its packs is missing or damaged; restore it from a copy.`,
  );
}
