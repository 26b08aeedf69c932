/**
 * Checkpoints of one folder, in a database of Pagurus' home: each file's bytes once, compressed, by their SHA-256, and each entry of
 * the tree with the checkpoints from which and until which it was there. A checkpoint therefore costs what changed since the one
 * before it.
 */
import { defined } from "@pagurus/core/data/defined";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { PagurusError } from "@pagurus/contract/errors";
import { ensurePrivateDir, writeReasonAt } from "@pagurus/core/platform/atomic-files";
import { openSqlite, type Database } from "@pagurus/core/data/sqlite";
import { forPerson } from "../tool/changes/manifest.ts";
import { checkpointFolder } from "./checkpoint-root.ts";
import { isSameEntry, type KnownEntry, type LeftOut } from "./tree-entry.ts";
import { hashOf, walkTree } from "./walk-tree.ts";

/** Why a checkpoint was made: to keep the folder as it is, after a turn, or after a restore. The user made the changes up to a `now`. */
type CheckpointKind = "now" | "after" | "restored";

export interface Checkpoint {
  id: number;
  /** ISO time. */
  at: string;
  kind: CheckpointKind;
  /** Number of entries that differ from the checkpoint before. */
  changed: number;
}

interface TakeOptions {
  kind: CheckpointKind;
  /** The only paths whose changes are taken in; others remain for the next checkpoint. */
  only?: ReadonlySet<string>;
  /** The conversation whose turn made the changes, with `after`. */
  session?: string;
  /** Called with the size of each file that is read. */
  onRead?(bytes: number): void;
}

/** Two states of one path; absent where the path was. */
export interface PathChange {
  path: string;
  from?: KnownEntry;
  to?: KnownEntry;
  /** Whether the user changed it between the two, or a turn of another conversation than the one that was asked for. */
  isOfOthers: boolean;
}

const VERSION = 3;
const SCHEMA = `
CREATE TABLE checkpoints (id INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL,
  changed INTEGER NOT NULL, left_out TEXT, session TEXT) STRICT;
CREATE TABLE entries (path TEXT NOT NULL, born INTEGER NOT NULL, died INTEGER, type TEXT NOT NULL, mode INTEGER NOT NULL,
  size INTEGER NOT NULL, hash TEXT NOT NULL, target TEXT NOT NULL, ino REAL NOT NULL, ctime REAL NOT NULL,
  PRIMARY KEY (path, born)) STRICT, WITHOUT ROWID;
CREATE INDEX entries_born ON entries (born);
CREATE INDEX entries_died ON entries (died) WHERE died IS NOT NULL;
CREATE INDEX entries_hash ON entries (hash);
CREATE TABLE objects (hash TEXT PRIMARY KEY, packed INTEGER NOT NULL, data BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE restores (id INTEGER PRIMARY KEY, from_id INTEGER NOT NULL, to_id INTEGER NOT NULL, paths TEXT NOT NULL,
  state TEXT NOT NULL, pid INTEGER NOT NULL) STRICT;
CREATE TABLE turns (turn TEXT PRIMARY KEY, session TEXT NOT NULL, pid INTEGER NOT NULL, begun INTEGER, ended INTEGER) STRICT`;
const ENTRY = "path, type, mode, size, hash, target, ino, ctime";
/** Bytes of new files that are held until they are written together. */
const BATCH_BYTES = 32 * 1024 * 1024;
const CHECKPOINT = "id, at, kind, changed";

export class CheckpointStore {
  readonly root: string;
  readonly home: string;
  readonly db: Database;
  readonly #file: string;
  /** Entries of the newest checkpoint, by path. */
  #known = new Map<string, KnownEntry>();
  #knownId = -1;

  /** Opens or creates it. `root` is absolute and without links. Throws `store_write_failed`, `store_read_failed`. */
  constructor(home: string, root: string) {
    this.root = root;
    this.home = home;
    const folder = checkpointFolder(home, root);
    this.#file = join(folder, "checkpoints.db");
    ensurePrivateDir(folder);
    this.db = this.#guarded(() => openSqlite(this.#file, { synchronous: "FULL" }));
    if (this.#guarded(() => this.db.createTables({ version: VERSION, schema: SCHEMA }))) return;
    this.db.close();
    const message = `The checkpoints in ${this.#file} are of another version of Pagurus; update Pagurus, or remove the file.`;
    throw new PagurusError("store_read_failed", message);
  }

  close(): void {
    this.db.close();
  }

  /** Whether the file of this store is still the one of the folder: it may have been deleted. */
  isInPlace(): boolean {
    return existsSync(this.#file);
  }

  /** Makes a checkpoint of the folder as it is; for a look at an unchanged folder it is the newest one. Throws `store_write_failed`, `usage_invalid` for a folder that is too large. */
  take(options: TakeOptions): Checkpoint {
    return this.#guarded(() => {
      const known = this.#newest();
      const batch = new ObjectBatch(this.db);
      const { entries, leftOut } = walkTree({
        root: this.root,
        closed: [this.home],
        known: (path) => known.get(path),
        keep: (hash, bytes) => {
          batch.add(hash, bytes);
          options.onRead?.(bytes.length);
        },
      });
      batch.flush();
      return this.db.transaction(() => this.#insert(options, entries, leftOut));
    });
  }

  /** Newest first. */
  list(limit = -1): Checkpoint[] {
    return this.db.all<Checkpoint>(`SELECT ${CHECKPOINT} FROM checkpoints ORDER BY id DESC LIMIT ?`, limit);
  }

  /** Throws `entry_not_found`. */
  find(id: number): Checkpoint {
    const found = this.db.get<Checkpoint>(`SELECT ${CHECKPOINT} FROM checkpoints WHERE id = ?`, id);
    if (found) return found;
    const message = `There is no checkpoint ${id} of ${this.root}; \`pagurus checkpoints list\` shows them.`;
    throw new PagurusError("entry_not_found", message);
  }

  leftOutAt(id: number): LeftOut[] {
    const row = this.db.get<{ left_out: string }>(
      "SELECT left_out FROM checkpoints WHERE id <= ? AND left_out IS NOT NULL ORDER BY id DESC LIMIT 1",
      id,
    );
    return row ? (JSON.parse(row.left_out) as LeftOut[]) : [];
  }

  /** Changes that lead from one checkpoint to another, in the order of paths. `session`: the conversation whose turns are no others. */
  changes(fromId: number, toId: number, session?: string): PathChange[] {
    const [low, high] = [Math.min(fromId, toId), Math.max(fromId, toId)];
    const touched = this.db.all<{ path: string; ofOthers: number }>(
      `SELECT path, max(kind = 'now' OR (kind = 'after' AND ?3 IS NOT NULL AND session IS NOT ?3)) AS ofOthers FROM (
         SELECT path, born AS seq FROM entries WHERE born > ?1 AND born <= ?2
         UNION ALL SELECT path, died FROM entries WHERE died > ?1 AND died <= ?2
       ) JOIN checkpoints ON id = seq GROUP BY path ORDER BY path`,
      low,
      high,
      session ?? null,
    );
    return touched.flatMap(({ path, ofOthers }) => {
      const [from, to] = [this.#entry(path, fromId), this.#entry(path, toId)];
      if (isSameEntry(from, to)) return [];
      return { path, ...defined({ from, to }), isOfOthers: ofOthers === 1 };
    });
  }

  /** The bytes of a file, checked. Throws `store_read_failed`. */
  bytes(hash: string): Buffer {
    const row = this.db.get<{ packed: number; data: Uint8Array }>(
      "SELECT packed, data FROM objects WHERE hash = ?",
      hash,
    );
    const bytes = row && (row.packed === 1 ? zstdDecompressSync(row.data) : Buffer.from(row.data));
    if (bytes && hashOf(bytes) === hash) return bytes;
    const message = `The bytes of ${hash.slice(0, 12)} in ${this.#file} are missing or damaged; the file keeps its present content.`;
    throw new PagurusError("store_read_failed", message);
  }

  #entry(path: string, id: number): KnownEntry | undefined {
    return this.db.get<KnownEntry>(
      `SELECT ${ENTRY} FROM entries WHERE path = ?1 AND born <= ?2 AND (died IS NULL OR died > ?2)`,
      path,
      id,
    );
  }

  #newestId(): number {
    return this.db.get<{ id: number | null }>("SELECT max(id) AS id FROM checkpoints")?.id ?? 0;
  }

  #newest(): Map<string, KnownEntry> {
    const id = this.#newestId();
    if (id === this.#knownId) return this.#known;
    const rows = this.db.all<KnownEntry>(`SELECT ${ENTRY} FROM entries WHERE died IS NULL`);
    this.#known = new Map(rows.map((row) => [row.path, row]));
    this.#knownId = id;
    return this.#known;
  }

  /** Compares with the newest checkpoint, which another process may have made since the walk began. */
  #insert({ kind, only, session }: TakeOptions, entries: KnownEntry[], leftOut: LeftOut[]) {
    const known = this.#newest();
    const id = this.#knownId + 1;
    // A rollback must not leave changed memory.
    this.#knownId = -1;
    const gone = new Set(known.keys());
    let changed = 0;
    for (const entry of entries) {
      const old = known.get(entry.path);
      gone.delete(entry.path);
      if (only && !only.has(entry.path)) continue;
      if (old && isSameEntry(old, entry)) this.#refresh(old, entry);
      else {
        changed += 1;
        if (old) this.#die(entry.path, id);
        this.#bear(entry, id);
      }
      known.set(entry.path, entry);
    }
    for (const path of gone) {
      if (only && !only.has(path)) continue;
      changed += 1;
      this.#die(path, id);
      known.delete(path);
    }
    const at = new Date().toISOString();
    const out = JSON.stringify(leftOut);
    const isNew = out !== JSON.stringify(this.leftOutAt(id - 1));
    const newest = kind === "now" && changed === 0 && !isNew ? this.list(1)[0] : undefined;
    if (newest) {
      this.#knownId = newest.id;
      return newest;
    }
    const added = "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)";
    this.db.run(added, id, at, kind, changed, isNew ? out : null, session ?? null);
    this.#knownId = id;
    return { id, at, kind, changed };
  }

  #refresh(old: KnownEntry, { path, ino, ctime, size }: KnownEntry): void {
    if (old.ino === ino && old.ctime === ctime) return;
    const sql = "UPDATE entries SET ino = ?, ctime = ?, size = ? WHERE path = ? AND died IS NULL";
    this.db.run(sql, ino, ctime, size, path);
  }

  #die(path: string, id: number): void {
    this.db.run("UPDATE entries SET died = ? WHERE path = ? AND died IS NULL", id, path);
  }

  #bear({ path, type, mode, size, hash, target, ino, ctime }: KnownEntry, id: number): void {
    // Another process may have removed old checkpoints since the walk found the bytes there.
    if (type === "file" && !this.db.get("SELECT 1 FROM objects WHERE hash = ?", hash))
      throw new PagurusError(
        "store_write_failed",
        `The bytes of ${forPerson(path)} are no longer kept; try again.`,
      );
    const sql = "INSERT INTO entries VALUES (?, ?, NULL, ?, ?, ?, ?, ?, ?, ?)";
    this.db.run(sql, path, id, type, mode, size, hash, target, ino, ctime);
  }

  #guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof PagurusError) throw error;
      this.#knownId = -1;
      const message = `No checkpoint of ${this.root} could be made in ${this.#file}: ${writeReasonAt(error, this.#file)}.`;
      throw new PagurusError("store_write_failed", message, { cause: error });
    }
  }
}

/** Bytes of new files, written in batches: they may be as large as the folder, and another process must not wait for them. */
class ObjectBatch {
  readonly #db: Database;
  readonly #waiting = new Map<string, Buffer>();
  #size = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  add(hash: string, bytes: Buffer): void {
    if (this.#waiting.has(hash) || this.#db.get("SELECT 1 FROM objects WHERE hash = ?", hash)) return;
    this.#waiting.set(hash, bytes);
    this.#size += bytes.length;
    if (this.#size > BATCH_BYTES) this.flush();
  }

  flush(): void {
    if (this.#waiting.size === 0) return;
    const rows = [...this.#waiting].map(([hash, bytes]) => {
      const packed = zstdCompressSync(bytes);
      const isSmaller = packed.length < bytes.length;
      return { hash, packed: isSmaller ? 1 : 0, data: isSmaller ? packed : bytes };
    });
    this.#db.transaction(() => {
      for (const { hash, packed, data } of rows)
        this.#db.run("INSERT OR IGNORE INTO objects VALUES (?, ?, ?)", hash, packed, data);
    });
    this.#waiting.clear();
    this.#size = 0;
  }
}
