/**
 * The index of an agent's sessions. It is derived: what is missing or wrong in it is built again from the
 * transcripts, and where its file cannot be written it lives in memory for this process.
 */
import { closeSync, existsSync, fstatSync, openSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { PagurusError } from "../contract/errors.ts";
import type { OpenNotice } from "../contract/writer.ts";
import type { Logger } from "../platform/log.ts";
import { changeNotices, forgetChange, knownIds, noteChange } from "./changes.ts";
import { readFailure, sqliteCode, systemCode } from "./failures.ts";
import { IndexDb, indexRemedy, MEMORY } from "./index-db.ts";
import { removeSession, sessionRow, type SessionRow } from "./index-rows.ts";
import { catchUpLines, insertSession, isSameFile, readHeader, type TornLine } from "./indexer.ts";
import { readKeyFile, writeKeyFile, type KeyFile } from "./key-file.ts";
import { isOwnId, isSessionId, recoveredKey } from "./keys.ts";
import { sessionPaths, TRANSCRIPT_SUFFIX } from "./paths.ts";

/** A temporary file that is this old was left by a process that died, ms. */
const LEFTOVER_MS = 10 * 60_000;

export class SessionIndex {
  readonly #file: string;
  readonly #folder: string;
  readonly #logger: Logger;
  #db: IndexDb | undefined;
  #closed = false;
  /** True while the index lives in memory; a file that is there is then not touched. */
  #memory = false;
  /** True while there is no folder, and so nothing to index: reading creates nothing on the disk. */
  #empty = false;
  /** That the index as a whole was built again, for the next session that is opened. */
  #notices: OpenNotice[] = [];

  constructor(agentDir: string, folder: string, logger: Logger) {
    this.#file = join(agentDir, "sessions.db");
    this.#folder = folder;
    this.#logger = logger;
  }

  /** Runs work on the database; a corrupt one is built again first, one that cannot be written moves to memory. */
  use<T>(work: (db: IndexDb) => T): T {
    let failure: unknown;
    // Twice: a corrupt file on a disk that is full needs both remedies.
    for (let attempt = 0; attempt < 3; attempt += 1) {
      try {
        return work(this.#current());
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

  /** Runs work on the open database as it is; for updates that may be made up for later. */
  attempt(work: (db: IndexDb) => void): boolean {
    try {
      work(this.#current());
      return true;
    } catch (error) {
      this.#logger.warn("The session index was not updated; it is caught up later.", {
        code: systemCode(error),
        errcode: sqliteCode(error),
      });
      return false;
    }
  }

  /** Brings one session up to its file's size. Undefined when the file is gone. */
  ensure(sessionId: string): { row: SessionRow; torn: TornLine | undefined } | undefined {
    return this.use((db) => this.#ensure(db, sessionId));
  }

  /** Indexes a session from its first line on, after its file turned out to differ from the index. */
  rebuild(sessionId: string): void {
    this.use((db) => this.#remove(db, sessionId));
    this.ensure(sessionId);
  }

  /** Compares the folder with the index, both ways. */
  sync(): void {
    this.use((db) => this.#sync(db));
  }

  /** Marks the index as incomplete while a session file is created, so that a crash in between is noticed. */
  whileIncomplete(work: () => void): void {
    const mark = (complete: boolean): void =>
      this.use((db) => {
        db.run("INSERT OR REPLACE INTO meta (name, value) VALUES ('complete', ?)", complete ? "1" : "0");
      });
    mark(false);
    work();
    mark(true);
  }

  /** What happened to the index, said once, and to a session's file, said until `forgetNotices`. */
  takeNotices(sessionId: string): OpenNotice[] {
    const notices = [...this.#notices, ...this.use((db) => changeNotices(db, sessionId))];
    this.#notices = [];
    return notices;
  }

  forgetNotices(sessionId: string): void {
    this.use((db) => forgetChange(db, sessionId));
  }

  /**
   * Rewrites the database file without the space of removed rows, so that no removed word is left in it. While
   * another process reads the former pages the mark stays, and the next opening does it again.
   */
  scrub(): void {
    this.use((db) => {
      if (this.#memory) return removeDatabase(this.#file);
      db.run("INSERT INTO words (words) VALUES ('optimize')");
      db.db.exec("VACUUM");
      const result = db.get<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)");
      if (result?.busy === 0) db.run("DELETE FROM meta WHERE name = 'scrub'");
    });
  }

  close(): void {
    this.#closed = true;
    this.#db?.close();
    this.#db = undefined;
  }

  #current(): IndexDb {
    if (this.#empty && existsSync(this.#folder)) {
      this.#db?.close();
      this.#db = undefined;
      this.#empty = false;
    }
    return this.#db ?? this.#open();
  }

  #open(): IndexDb {
    if (this.#closed)
      throw new PagurusError("store_read_failed", "The session store was closed; open it again.");
    this.#empty = !existsSync(this.#folder);
    let db: IndexDb;
    try {
      db = new IndexDb(this.#empty ? MEMORY : this.#file);
    } catch (error) {
      // A folder that cannot be written is no reason to refuse reading; another process's lock is.
      const remedy = indexRemedy(error);
      if (remedy === "none" && systemCode(error) === "ERR_SQLITE_ERROR") throw error;
      db = this.#openAnew(remedy === "rebuild" ? "rebuild" : "memory", error);
    }
    this.#db = db;
    this.#complete(db);
    return db;
  }

  #openAnew(remedy: "rebuild" | "memory", cause: unknown): IndexDb {
    if (remedy === "rebuild") {
      try {
        removeDatabase(this.#file);
        return new IndexDb(this.#file);
      } catch (error) {
        return this.#inMemory(error);
      }
    }
    return this.#inMemory(cause);
  }

  #inMemory(cause: unknown): IndexDb {
    this.#logger.warn("The session index cannot be written; it is kept in memory for now.", {
      code: systemCode(cause),
      errcode: sqliteCode(cause),
    });
    this.#memory = true;
    return new IndexDb(MEMORY);
  }

  #replace(remedy: "rebuild" | "memory", cause: unknown): void {
    const broken = this.#db;
    this.#db = undefined;
    if (!broken) return;
    try {
      broken.close();
    } catch {
      // It is given up anyway.
      this.#logger.debug("A broken index did not close.");
    }
    this.#db = this.#openAnew(remedy, cause);
    this.#complete(this.#db);
  }

  /** Builds the index where it is new or an earlier build or creation was cut off. */
  #complete(db: IndexDb): void {
    const meta = (name: string): string | undefined =>
      db.get<{ value: string }>("SELECT value FROM meta WHERE name = ?", name)?.value;
    if (meta("scrub") !== undefined) this.scrub();
    const complete = meta("complete");
    if (complete === "1") return;
    const count = this.#sync(db);
    db.run("INSERT OR REPLACE INTO meta (name, value) VALUES ('complete', '1')");
    if (complete === undefined && count > 0) {
      const detail = `The session index was missing or unusable and was built again from ${count} transcripts.`;
      this.#notices.push({ kind: "index_rebuilt", detail });
      this.#logger.warn(detail);
    }
  }

  /** Number of sessions that were new or had changed. */
  #sync(db: IndexDb): number {
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

  /** A name that was not made here may be any file that somebody put there: it has to say itself what it is. */
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

  /** One transcript that cannot be read must not hide the others. */
  #tryEnsure(db: IndexDb, sessionId: string): boolean {
    try {
      return this.#ensure(db, sessionId) !== undefined;
    } catch (error) {
      if (systemCode(error) === "ERR_SQLITE_ERROR") throw error;
      this.#logger.warn("A transcript cannot be read.", { sessionId, code: systemCode(error) });
      return false;
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

  #ensure(db: IndexDb, sessionId: string): { row: SessionRow; torn: TornLine | undefined } | undefined {
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
      if (row?.bytes === size && isSameFile(fd, size, row)) return { row, torn: undefined };
      const given = readKeyFile(paths.key);
      const state = db.transaction(() => this.#catchUp(db, fd, size, sessionId, given));
      if (state?.row.header_length === 0 && !sameOrder(state.row, given)) this.#keepKey(paths.key, state.row);
      return state;
    } finally {
      closeSync(fd);
    }
  }

  /** Only the index knows this key; it is written where another index finds it. */
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
    db: IndexDb,
    fd: number,
    size: number,
    sessionId: string,
    given: KeyFile | undefined,
  ): { row: SessionRow; torn: TornLine | undefined } | undefined {
    const former = sessionRow(db, sessionId);
    const changed = former !== undefined && !isSameFile(fd, size, former);
    const before = changed ? knownIds(db, former.num) : [];
    if (changed) removeSession(db, former.num);
    if (changed || !former) insertSession(db, fd, size, sessionId, { given, former });
    const fresh = sessionRow(db, sessionId);
    if (!fresh) return undefined;
    const torn = catchUpLines(db, fd, size, fresh);
    if (changed) {
      const lost = noteChange(db, sessionId, fresh.num, before);
      this.#logger.warn("A transcript was changed by another program and is indexed anew.", {
        sessionId,
        lost,
      });
    }
    return { row: sessionRow(db, sessionId) ?? fresh, torn };
  }

  #remove(db: IndexDb, sessionId: string): void {
    const row = sessionRow(db, sessionId);
    if (!row) return;
    db.transaction(() => {
      removeSession(db, row.num);
      forgetChange(db, sessionId);
    });
  }
}

function sameOrder(row: SessionRow, given: KeyFile | undefined): boolean {
  const { generation, precedence } = given?.order ?? { generation: 0, precedence: 0 };
  return row.key === given?.key && row.generation === generation && row.precedence === precedence;
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
