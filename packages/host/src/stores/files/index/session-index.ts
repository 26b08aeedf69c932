/**
 * The index of an agent's sessions. It is derived: missing or wrong parts are rebuilt from the transcripts, and when its file cannot be
 * written it lives in memory for this process.
 */
import { closeSync, existsSync, fstatSync, openSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type { OpenNotice } from "@pagurus/contract/session/writer";
import type { Logger } from "@pagurus/core/platform/log";
import { changeNotices, forgetChange, knownIds, noteChange } from "../transcript/changes.ts";
import { readFailure, sqliteCode, systemCode } from "../failures.ts";
import { damagedIndexes, setAsideIndex } from "./index-aside.ts";
import { indexRemedy, isOtherSchema, openIndex } from "./index-db.ts";
import { MEMORY, type Database } from "@pagurus/core/data/sqlite";
import { FolderLook } from "./folder-look.ts";
import { removeSession, sessionRow, type SessionRow } from "./index-rows.ts";
import { catchUpLines, insertSession, isSameFile, readHeader, type TornLine } from "./indexer.ts";
import { readKeyFile, writeKeyFile, type KeyFile } from "../key-file.ts";
import { isOwnId, isSessionId, recoveredKey } from "../keys.ts";
import { sessionPaths, TRANSCRIPT_SUFFIX } from "../session-paths.ts";

/** Age at which a temporary file counts as left over by a dead process, ms. */
const LEFTOVER_MS = 10 * 60_000;
/** Bytes of lines that are indexed at once, a few milliseconds of work. */
const PART_BYTES = 2 ** 18;

interface IndexedPart {
  /** Bytes of lines after which indexing ends; absent: the whole file is indexed. */
  most?: number;
  /** A change of the indexed lines is this program's own. */
  isReplaced?: boolean;
}

interface IndexedState {
  row: SessionRow;
  torn: TornLine | undefined;
  /** Of the file. */
  size: number;
}

/** A row, and whether the file still has what it says. */
interface CheckedRow {
  row: SessionRow;
  isSame: boolean;
}

export class SessionIndex {
  readonly #file: string;
  readonly #folder: string;
  readonly #logger: Logger;
  #db: Database | undefined;
  #closed = false;
  /** True while the index lives in memory; an existing file is then not touched. */
  #memory = false;
  /** True without a folder, and so without anything to index: reading creates nothing on the disk. */
  #empty = false;
  /** Notices of a full rebuild of the index, for the next session that is opened. */
  #notices: OpenNotice[] = [];
  readonly #look: FolderLook;

  constructor(agentDir: string, folder: string, logger: Logger) {
    this.#file = join(agentDir, "sessions.db");
    this.#folder = folder;
    this.#logger = logger;
    this.#look = new FolderLook({
      folder,
      take: (name) => this.use((db) => this.#takeNew(db, name)),
      begin: (name) => this.use((db) => this.#takeNew(db, name, { most: PART_BYTES })),
      continue: (name) => this.ensurePart(basename(name, TRANSCRIPT_SUFFIX)),
      isClosed: () => this.#closed,
      onError: (error) => logger.debug("The sessions' folder was not read.", { code: systemCode(error) }),
    });
  }

  /**
   * Runs work with the database and further arguments; rebuilds a corrupt one first, moves one that cannot be written to memory.
   */
  use<A extends unknown[], T>(work: (db: Database, ...args: A) => T, ...args: A): T {
    let failure: unknown;
    // Two retries: a corrupt file on a full disk needs both remedies.
    for (let attempt = 0; attempt < 3; attempt += 1) {
      try {
        return work(this.#current(), ...args);
      } catch (error) {
        failure = error;
        const remedy = indexRemedy(error);
        if (remedy === "none") break;
        this.#replace(remedy, error);
      }
    }
    if ((failure as { code?: unknown }).code === "ERR_SQLITE_ERROR") throw readFailure(failure, this.#file);
    throw failure;
  }

  /** Runs work on the open database as it is; for updates that can be made later. */
  attempt(work: (db: Database) => void): boolean {
    try {
      work(this.#current());
      return true;
    } catch (error) {
      const remedy = indexRemedy(error);
      if (remedy === "rebuild") this.#replace(remedy, error);
      this.#logger.warn("The session index was not updated; it is caught up later.", {
        code: systemCode(error),
        errcode: sqliteCode(error),
      });
      return false;
    }
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Indexes one session up to its file's size. Undefined when the file is gone. */
  ensure(sessionId: string): { row: SessionRow; torn: TornLine | undefined } | undefined {
    return this.use((db) => this.#ensure(db, sessionId));
  }

  /** Indexes a session that was just written without its lines. `isReplaced`: the caller has replaced the file. */
  begin(sessionId: string, isReplaced = false): void {
    this.use((db) => this.#ensure(db, sessionId, { most: 0, isReplaced }));
  }

  /** Indexes the next lines of one session, at least one. Returns whether more are left. */
  ensurePart(sessionId: string): boolean {
    const state = this.use((db) => this.#ensure(db, sessionId, { most: PART_BYTES }));
    return state !== undefined && isPart(state);
  }

  /** Indexes a session again from its first line, after its file differed from the index. */
  rebuild(sessionId: string): void {
    this.use((db) => this.#remove(db, sessionId));
    this.ensure(sessionId);
  }

  /** Compares the folder with the index, both ways. */
  sync(): void {
    this.use((db) => this.#sync(db));
  }

  /** Indexes transcripts that are new in the folder, of a large one later. Reads the names in the folder, and looks at no known file. */
  syncNew(): void {
    const isAtOnce = this.use((db) => this.#look.isAtOnce || this.#memory || metaOf(db, "complete") !== "1");
    if (isAtOnce) this.#look.atOnce(this.#names());
    else this.#look.soon();
  }

  /** Whether the next search for an unknown key may read every row. */
  get isReadAtOnce(): boolean {
    return this.#look.isAtOnce;
  }

  /** Marks the index as incomplete while a session file is created, so that a crash in between is detected. */
  whileIncomplete(work: () => void): void {
    this.use(markComplete, false);
    work();
    this.use(markComplete, true);
  }

  /** Notices on the index, reported once, and on a session's file, reported until `forgetNotices`. */
  takeNotices(sessionId: string): OpenNotice[] {
    const notices = [...this.#notices, ...this.use(changeNotices, sessionId)];
    this.#notices = [];
    return notices;
  }

  forgetNotices(sessionId: string): void {
    this.use(forgetChange, sessionId);
  }

  /**
   * Rewrites the database file without the space of removed rows, so that no removed word is left in it. While another process reads the
   * former pages the mark stays, and the next opening does it again.
   */
  scrub(): void {
    this.use((db) => {
      for (const file of damagedIndexes(this.#file)) rmSync(file, { force: true });
      if (this.#memory) return removeDatabase(this.#file);
      db.run("INSERT INTO words (words) VALUES ('optimize')");
      db.raw.exec("VACUUM");
      const result = db.get<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)");
      if (result?.busy === 0) db.run("DELETE FROM meta WHERE name = 'scrub'");
    });
  }

  close(): void {
    this.#closed = true;
    this.#db?.close();
    this.#db = undefined;
  }

  #current(): Database {
    if (this.#empty && existsSync(this.#folder)) {
      this.#db?.close();
      this.#db = undefined;
      this.#empty = false;
    }
    return this.#db ?? this.#open();
  }

  #open(): Database {
    if (this.#closed)
      throw new PagurusError("store_read_failed", "The session store was closed; open it again.");
    this.#empty = !existsSync(this.#folder);
    let db: Database;
    try {
      db = openIndex(this.#empty ? MEMORY : this.#file);
    } catch (error) {
      // Reading still works in a folder that cannot be written, but not under another process's lock.
      const remedy = indexRemedy(error);
      if (remedy === "none" && systemCode(error) === "ERR_SQLITE_ERROR") throw error;
      db = this.#reopen(remedy === "rebuild" ? "rebuild" : "memory", error);
    }
    this.#db = db;
    this.#complete(db);
    return db;
  }

  #reopen(remedy: "rebuild" | "memory", cause: unknown): Database {
    if (remedy === "rebuild") {
      try {
        if (isOtherSchema(cause)) removeDatabase(this.#file);
        else this.#setAside();
        return openIndex(this.#file);
      } catch (error) {
        return this.#inMemory(error);
      }
    }
    return this.#inMemory(cause);
  }

  /** Keeps a damaged index for inspection; a later one replaces the former. */
  #setAside(): void {
    for (const file of damagedIndexes(this.#file)) rmSync(file, { force: true });
    if (!existsSync(this.#file)) return removeDatabase(this.#file);
    const aside = setAsideIndex(this.#file);
    this.#logger.warn("The session index is damaged, was set aside, and is built again.", { file: aside });
  }

  #inMemory(cause: unknown): Database {
    this.#logger.warn("The session index cannot be written; it is kept in memory for now.", {
      code: systemCode(cause),
      errcode: sqliteCode(cause),
    });
    this.#memory = true;
    return openIndex(MEMORY);
  }

  #replace(remedy: "rebuild" | "memory", cause: unknown): void {
    const broken = this.#db;
    this.#db = undefined;
    this.#look.forget();
    if (!broken) return;
    try {
      broken.close();
    } catch {
      // It is discarded anyway.
      this.#logger.debug("A broken index did not close.");
    }
    this.#db = this.#reopen(remedy, cause);
    this.#complete(this.#db);
  }

  /** Builds the index when it is new or an earlier build or creation was cut off. */
  #complete(db: Database): void {
    if (metaOf(db, "scrub") !== undefined) this.scrub();
    const complete = metaOf(db, "complete");
    if (complete === "1") return;
    const count = this.#sync(db);
    markComplete(db, true);
    if (complete === undefined && count > 0) {
      const from = count === 1 ? "one transcript" : `${count} transcripts`;
      const detail = `The session index was missing or unusable and was built again from ${from}.`;
      this.#notices.push({ kind: "index_rebuilt", detail });
      this.#logger.warn(detail);
    }
  }

  /** Number of sessions that were new or had changed. */
  #sync(db: Database): number {
    const rows = new Map(
      db
        .all<{ id: string; bytes: number }>("SELECT id, bytes FROM sessions")
        .map((row) => [row.id, row.bytes]),
    );
    let changed = 0;
    for (const name of this.#names().toSorted()) {
      const id = basename(name, TRANSCRIPT_SUFFIX);
      const file = join(this.#folder, name);
      if (name.endsWith(".tmp")) removeLeftover(file);
      if (!name.endsWith(TRANSCRIPT_SUFFIX)) continue;
      const bytes = rows.get(id);
      if (bytes === undefined && !this.#isOurs(id)) continue;
      rows.delete(id);
      if (bytes === statSync(file, { throwIfNoEntry: false })?.size) continue;
      if (this.#tryEnsure(db, id)) changed += 1;
    }
    for (const id of rows.keys()) this.#remove(db, id);
    return changed;
  }

  /** Takes a name that was not seen; returns whether more of its transcript is left. */
  #takeNew(db: Database, name: string, how?: IndexedPart): boolean {
    const id = basename(name, TRANSCRIPT_SUFFIX);
    // Other files of a session end alike.
    if (!isSessionId(id)) return false;
    const isKnown = sessionRow(db, id) !== undefined;
    const state = isKnown || !this.#isOurs(id) ? undefined : this.#tryEnsure(db, id, how);
    if (isKnown || state) this.#look.seen.add(name);
    return state !== undefined && isPart(state);
  }

  /** A file with a foreign name may be anything: its header has to identify it. */
  #isOurs(id: string): boolean {
    if (isOwnId(id)) return true;
    if (!isSessionId(id)) return false;
    const { transcript, key } = sessionPaths(this.#folder, id);
    try {
      return readHeader(transcript)?.storedAs === id || existsSync(key);
    } catch (error) {
      this.#logger.warn("A transcript cannot be read.", { sessionId: id, code: systemCode(error) });
      return false;
    }
  }

  /** An unreadable transcript must not hide the others. */
  #tryEnsure(db: Database, sessionId: string, how?: IndexedPart): IndexedState | undefined {
    try {
      return this.#ensure(db, sessionId, how);
    } catch (error) {
      if (systemCode(error) === "ERR_SQLITE_ERROR") throw error;
      this.#logger.warn("A transcript cannot be read.", { sessionId, code: systemCode(error) });
      return undefined;
    }
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder);
    } catch (error) {
      if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return [];
      throw readFailure(error, this.#folder);
    }
  }

  #ensure(db: Database, sessionId: string, how: IndexedPart = {}): IndexedState | undefined {
    const paths = sessionPaths(this.#folder, sessionId);
    let fd: number;
    try {
      fd = openSync(paths.transcript, "r");
    } catch (error) {
      if (systemCode(error) !== "ENOENT" && systemCode(error) !== "ENOTDIR")
        throw readFailure(error, paths.transcript);
      this.#remove(db, sessionId);
      return undefined;
    }
    try {
      const { size } = fstatSync(fd);
      const row = sessionRow(db, sessionId);
      const checked = row && { row, isSame: isSameFile(fd, size, row) };
      if (checked?.isSame && row?.bytes === size) return { row, torn: undefined, size };
      const keyFile = readKeyFile(paths.key);
      const state = db.transaction(() =>
        this.#catchUp(db, fd, { size, checked, ...how }, sessionId, keyFile),
      );
      if (state?.row.header_length === 0 && !sameOrder(state.row, keyFile))
        this.#keepKey(paths.key, state.row);
      return state && { ...state, size };
    } finally {
      closeSync(fd);
    }
  }

  /** Only the index has this key; writes it to a file where a new index finds it. */
  #keepKey(file: string, row: SessionRow): void {
    const { key, generation, precedence } = row;
    if (key === recoveredKey(row.id)) return;
    try {
      writeKeyFile(file, { key, order: { generation, precedence } });
    } catch (error) {
      this.#logger.warn("The key of a session without a header could not be kept beside it.", {
        sessionId: row.id,
        code: systemCode(error),
      });
    }
  }

  #catchUp(
    db: Database,
    fd: number,
    { size, checked, most, isReplaced }: IndexedPart & { size: number; checked: CheckedRow | undefined },
    sessionId: string,
    keyFile: KeyFile | undefined,
  ): { row: SessionRow; torn: TornLine | undefined } | undefined {
    const former = sessionRow(db, sessionId);
    const changed = former !== undefined && !(isSameRow(former, checked) ?? isSameFile(fd, size, former));
    const isForeign = changed && isReplaced !== true;
    const before = isForeign ? knownIds(db, former.num) : [];
    if (changed) removeSession(db, former.num);
    if (changed || !former) insertSession(db, fd, size, sessionId, { keyFile, former });
    const fresh = sessionRow(db, sessionId);
    if (!fresh) return undefined;
    const torn = catchUpLines(db, fd, size, fresh, most);
    if (isForeign) {
      const lost = noteChange(db, sessionId, fresh.num, before);
      this.#logger.warn("A transcript was changed by another program and is indexed again.", {
        sessionId,
        lost,
      });
    }
    return { row: sessionRow(db, sessionId) ?? fresh, torn };
  }

  #remove(db: Database, sessionId: string): void {
    this.#look.seen.delete(sessionId + TRANSCRIPT_SUFFIX);
    const row = sessionRow(db, sessionId);
    if (!row) return;
    db.transaction(() => {
      removeSession(db, row.num);
      forgetChange(db, sessionId);
    });
  }
}

/** Whether lines are left to be indexed. */
function isPart({ row, torn, size }: IndexedState): boolean {
  return !torn && row.bytes < size;
}

/** Whether the file has what the row says, if that was looked up in the same state: the last line may have megabytes. */
function isSameRow(row: SessionRow, checked: CheckedRow | undefined): boolean | undefined {
  const isUnchanged =
    checked !== undefined &&
    checked.row.num === row.num &&
    checked.row.bytes === row.bytes &&
    checked.row.last_hash === row.last_hash &&
    checked.row.header_hash === row.header_hash;
  return isUnchanged ? checked.isSame : undefined;
}

function sameOrder(row: SessionRow, keyFile: KeyFile | undefined): boolean {
  const { generation, precedence } = keyFile?.order ?? { generation: 0, precedence: 0 };
  return row.key === keyFile?.key && row.generation === generation && row.precedence === precedence;
}

function metaOf(db: Database, name: string): string | undefined {
  return db.get<{ value: string }>("SELECT value FROM meta WHERE name = ?", name)?.value;
}

function markComplete(db: Database, complete: boolean): void {
  db.run("INSERT OR REPLACE INTO meta (name, value) VALUES ('complete', ?)", complete ? "1" : "0");
}

function removeLeftover(file: string): void {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat || Date.now() - stat.mtimeMs < LEFTOVER_MS) return;
  try {
    rmSync(file, { force: true });
  } catch {
    // A folder that cannot be written keeps its leftovers.
    return;
  }
}

function removeDatabase(file: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
}
