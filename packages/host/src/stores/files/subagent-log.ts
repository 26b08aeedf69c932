/**
 * The durable registry of child sessions: which exist, who runs them, how they ended, whether the engine was notified and whether the
 * parent has the result. It contains keys, ids and codes, never text. One file per agent; nothing is opened or created before the first
 * child.
 */
import { existsSync, renameSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import type { SQLInputValue } from "node:sqlite";
import { PagurusError } from "@pagurus/contract/errors";
import { ensurePrivateDir } from "@pagurus/core/platform/atomic-files";
import type { Logger } from "@pagurus/core/platform/log";
import { processIsAlive, processStartTicks } from "@pagurus/core/platform/process-group";
import { openSqlite, type Database } from "@pagurus/core/data/sqlite";
import { readFailure, sqliteCode, writeFailure } from "./failures.ts";

type ChildOutcome = "completed" | "failed" | "aborted";
export type ChildEndReason = "completed" | "deleted" | "released" | "swept";

export interface ChildRecord {
  childSessionKey: string;
  childSessionId: string;
  parentSessionKey: string;
  contextMode: "isolated" | "fork";
  /** 1 for a child of a session that is no child itself. */
  depth: number;
  /** `failed`: the spawn failed before the child ran. */
  state: "preparing" | "running" | "ended" | "failed";
  reason: ChildEndReason | null;
  outcome: ChildOutcome | null;
  /** Error code of a failed turn. */
  code: string | null;
  /** Entry of the child's transcript with its last answer. */
  answerEntryId: string | null;
  /** End reason requested by another process, or by a parent that is gone. */
  stop: ChildEndReason | null;
  /** Milliseconds since the epoch. */
  expiresAt: number;
  /** Whether the owner may still be working on it. */
  live: boolean;
}

export interface ChildEnd {
  reason: ChildEndReason;
  outcome: ChildOutcome;
  code?: string | undefined;
  answerEntryId?: string | undefined;
}

export interface Reservation {
  parentSessionKey: string;
  childSessionId: string;
  contextMode: "isolated" | "fork";
  depth: number;
  expiresAt: number;
  /** Most live children of the parent at a time. */
  most: number;
  /** The key of the parent's n-th child; 1 for the first. */
  keyOf: (number: number) => string;
  /** Whether a session with this key exists already. */
  taken: (childSessionKey: string) => boolean;
}

const SCHEMA_VERSION = 1;
/** The process of an owner on another host cannot be checked: it is dead when it has not updated its rows for this long, ms. */
const FOREIGN_STALE_MS = 5 * 60_000;

const SCHEMA = `
CREATE TABLE children (
  num INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, session TEXT NOT NULL, parent TEXT NOT NULL, mode TEXT NOT NULL,
  depth INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT, outcome TEXT, code TEXT, answer TEXT, stop TEXT,
  told INTEGER NOT NULL DEFAULT 0, delivered INTEGER NOT NULL DEFAULT 0, forgotten INTEGER NOT NULL DEFAULT 0,
  expires INTEGER NOT NULL, ended INTEGER,
  instance TEXT NOT NULL, pid INTEGER NOT NULL, ticks TEXT, host TEXT NOT NULL, seen INTEGER NOT NULL);
CREATE INDEX children_by_parent ON children (parent);
CREATE INDEX children_due ON children (num) WHERE state IN ('preparing', 'running') OR (state = 'ended' AND told = 0);
CREATE TABLE counters (parent TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
`;
const DUE = "(state IN ('preparing', 'running') OR (state = 'ended' AND told = 0))";
const ALIVE = "state IN ('preparing', 'running')";
const BELOW = `WITH RECURSIVE below (key) AS (
  SELECT key FROM children WHERE parent = ? UNION SELECT c.key FROM children c JOIN below b ON c.parent = b.key)`;

interface Row {
  key: string;
  session: string;
  parent: string;
  mode: "isolated" | "fork";
  depth: number;
  state: ChildRecord["state"];
  reason: ChildEndReason | null;
  outcome: ChildOutcome | null;
  code: string | null;
  answer: string | null;
  stop: ChildEndReason | null;
  expires: number;
  instance: string;
  pid: number;
  ticks: string | null;
  host: string;
  seen: number;
}

/** Reads throw `store_read_failed`, changes `store_write_failed`. */
export class SubagentLog {
  readonly #file: string;
  readonly #instance: string;
  readonly #holds: (childSessionKey: string) => boolean;
  readonly #logger: Logger;
  #db: Database | undefined;

  /** `instance` identifies this owner, also within one process. `holds`: whether this owner still works on a child of its own. */
  constructor(options: {
    file: string;
    instance: string;
    holds: (childSessionKey: string) => boolean;
    logger: Logger;
  }) {
    this.#file = options.file;
    this.#instance = options.instance;
    this.#holds = options.holds;
    this.#logger = options.logger;
  }

  /** Reserves a key and a row for a child, in state `preparing`; undefined when the parent has `most` already. */
  reserve(request: Reservation): ChildRecord | undefined {
    return this.#change((db) => {
      const { parentSessionKey: parent } = request;
      if (
        this.#select(db, `parent = ? AND ${ALIVE}`, parent).filter(({ live }) => live).length >= request.most
      )
        return undefined;
      const counter = db.get<{ last: unknown }>("SELECT last FROM counters WHERE parent = ?", parent);
      let number = Number(counter?.last ?? 0) + 1;
      while (
        this.#select(db, "key = ?", request.keyOf(number)).length > 0 ||
        request.taken(request.keyOf(number))
      )
        number++;
      db.run("INSERT OR REPLACE INTO counters (parent, last) VALUES (?, ?)", parent, number);
      const key = request.keyOf(number);
      const { childSessionId, contextMode, depth, expiresAt } = request;
      db.run(
        `INSERT INTO children (key, session, parent, mode, depth, state, expires, instance, pid, ticks, host, seen)
         VALUES (?, ?, ?, ?, ?, 'preparing', ?, ?, ?, ?, ?, ?)`,
        key,
        childSessionId,
        parent,
        contextMode,
        depth,
        Math.round(expiresAt),
        ...this.#owner(),
      );
      return this.#select(db, "key = ?", key)[0];
    });
  }

  /** The child runs from here on. False when its end was requested meanwhile. */
  setRunning(key: string): boolean {
    return (
      this.#update("state = 'running' WHERE key = ? AND state = 'preparing' AND stop IS NULL", key) === 1
    );
  }

  /** The spawn failed before the child ran. */
  setFailed(key: string): void {
    this.#update("state = 'failed', told = 1 WHERE key = ? AND state = 'preparing'", key);
  }

  /** Records the end of a child. False when it had ended already. One that never ran has no result. */
  end(key: string, { reason, outcome, code, answerEntryId }: ChildEnd): boolean {
    // After all others, also within a millisecond: results come in this order.
    const set = `state = 'ended', reason = ?, outcome = ?, code = ?, answer = ?,
      ended = max(?, 1 + coalesce((SELECT max(c.ended) FROM children c WHERE c.parent = children.parent), 0)),
      delivered = (state = 'preparing') WHERE key = ? AND ${ALIVE}`;
    const values = [reason, outcome, code ?? null, answerEntryId ?? null, Date.now(), key];
    return this.#update(set, ...values) === 1;
  }

  /** The engine was notified of the end. */
  setNotified(key: string): void {
    this.#change((db) => {
      db.run("UPDATE children SET told = 1 WHERE key = ?", key);
      db.run("DELETE FROM children WHERE key = ? AND forgotten = 1", key);
    });
  }

  /** The parent has the results. */
  setDelivered(keys: readonly string[]): void {
    if (keys.length === 0 || !this.#present()) return;
    this.#change((db) => {
      for (const key of keys)
        db.run("UPDATE children SET delivered = 1 WHERE key = ? AND state = 'ended'", key);
    });
  }

  /** Drops the pending results of a session. */
  dropResults(parentSessionKey: string): void {
    this.#update("delivered = 1 WHERE parent = ? AND state = 'ended'", parentSessionKey);
  }

  /** Depth of a child; undefined for a session that is none. */
  depthOf(key: string): number | undefined {
    return this.#read("key = ? AND state <> 'failed'", key)[0]?.depth;
  }

  /** Ended children with a pending result for the parent, in the order of their ends. */
  waiting(parentSessionKey: string): ChildRecord[] {
    const where =
      "parent = ? AND state = 'ended' AND delivered = 0 AND reason IN ('completed', 'swept') ORDER BY ended, num";
    return this.#read(where, parentSessionKey);
  }

  /** Children of a session that have not ended, oldest first. */
  unended(parentSessionKey: string): ChildRecord[] {
    return this.#read(`parent = ? AND ${ALIVE} ORDER BY num`, parentSessionKey);
  }

  /** Keys of all sessions below one, the deepest first. */
  descendants(key: string): string[] {
    if (!this.#present()) return [];
    return this.#guarded(readFailure, (db) =>
      db
        .all<{ key: unknown }>(
          `${BELOW} SELECT key FROM children WHERE key IN below AND state <> 'failed' ORDER BY depth DESC, num`,
          key,
        )
        .map((row) => String(row.key)),
    );
  }

  /** Requests the end of children wherever they run: those of a session, or with `deep` it and all below it. */
  requestStop(key: string, reason: ChildEndReason, deep: boolean): void {
    if (!this.#present()) return;
    this.#change((db) => {
      if (!deep) db.run(`UPDATE children SET stop = ? WHERE parent = ? AND ${ALIVE}`, reason, key);
      else
        db.run(
          `${BELOW} UPDATE children SET stop = ? WHERE (key = ? OR key IN below) AND ${ALIVE}`,
          key,
          reason,
          key,
        );
    });
  }

  /** Children of this owner whose end was requested. */
  toStop(): ChildRecord[] {
    return this.#read(`instance = ? AND stop IS NOT NULL AND ${ALIVE}`, this.#instance);
  }

  /** Heartbeat for processes on other hosts. */
  touch(): void {
    this.#update(`seen = ? WHERE instance = ? AND ${ALIVE}`, Date.now(), this.#instance);
  }

  /** Takes over children without a live owner: not ended, or the engine was not notified. No two owners get the same one. */
  takeOrphans(): ChildRecord[] {
    if (this.#read(DUE).every(({ live }) => live)) return [];
    return this.#change((db) => {
      const orphans = this.#select(db, `${DUE} ORDER BY num`).filter(({ live }) => !live);
      for (const { childSessionKey } of orphans)
        db.run(
          "UPDATE children SET instance = ?, pid = ?, ticks = ?, host = ?, seen = ? WHERE key = ?",
          ...this.#owner(),
          childSessionKey,
        );
      return orphans;
    });
  }

  /** Removes the records of a session and all below it; an end that the engine was not notified of stays until it was. */
  forget(key: string): void {
    if (!this.#present()) return;
    this.#change((db) => {
      const gone = [key, ...this.#below(db, key)];
      for (const child of gone) {
        db.run("UPDATE children SET forgotten = 1, delivered = 1 WHERE key = ? AND told = 0", child);
        db.run("DELETE FROM children WHERE key = ? AND told = 1", child);
        db.run("DELETE FROM counters WHERE parent = ?", child);
      }
    });
    this.#guarded(writeFailure, (db) => db.raw.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  }

  close(): void {
    this.#db?.close();
    this.#db = undefined;
  }

  #below(db: Database, key: string): string[] {
    return db.all<{ key: unknown }>(`${BELOW} SELECT key FROM below`, key).map((row) => String(row.key));
  }

  #owner(): [string, number, string | null, string, number] {
    return [this.#instance, process.pid, processStartTicks(process.pid) ?? null, hostname(), Date.now()];
  }

  #read(where: string, ...values: SQLInputValue[]): ChildRecord[] {
    if (!this.#present()) return [];
    return this.#guarded(readFailure, (db) => this.#select(db, where, ...values));
  }

  #select(db: Database, where: string, ...values: SQLInputValue[]): ChildRecord[] {
    return db.all<Row>(`SELECT * FROM children WHERE ${where}`, ...values).map((row) => ({
      childSessionKey: row.key,
      childSessionId: row.session,
      parentSessionKey: row.parent,
      contextMode: row.mode,
      depth: row.depth,
      state: row.state,
      reason: row.reason,
      outcome: row.outcome,
      code: row.code,
      answerEntryId: row.answer,
      stop: row.stop,
      expiresAt: row.expires,
      live: row.instance === this.#instance ? this.#holds(row.key) : isLive(row),
    }));
  }

  #update(set: string, ...values: SQLInputValue[]): number {
    if (!this.#present()) return 0;
    return this.#change((db) => db.run(`UPDATE children SET ${set}`, ...values));
  }

  #change<T>(work: (db: Database) => T): T {
    return this.#guarded(writeFailure, (db) => db.transaction(() => work(db)));
  }

  #guarded<T>(failure: (error: unknown, file: string) => PagurusError, work: (db: Database) => T): T {
    try {
      this.#db ??= this.#open();
      return work(this.#db);
    } catch (error) {
      throw failure(error, this.#file);
    }
  }

  #present(): boolean {
    return this.#db !== undefined || existsSync(this.#file);
  }

  #open(): Database {
    ensurePrivateDir(dirname(this.#file));
    try {
      return openLog(this.#file);
    } catch (error) {
      // CORRUPT 11, NOTADB 26: set aside for inspection; sessions are complete without it.
      if (![11, 26].includes((sqliteCode(error) ?? 0) & 0xff)) throw error;
      renameSync(this.#file, `${this.#file}.damaged`);
      for (const suffix of ["-wal", "-shm"]) rmSync(this.#file + suffix, { force: true });
      this.#logger.error("record of subagents damaged", { file: `${this.#file}.damaged` });
      return openLog(this.#file);
    }
  }
}

function openLog(file: string): Database {
  const db = openSqlite(file, { synchronous: "FULL" });
  try {
    db.raw.exec("PRAGMA secure_delete = ON");
    if (db.createTables({ version: SCHEMA_VERSION, schema: SCHEMA })) return db;
    throw new PagurusError(
      "store_read_failed",
      `The file ${file} was written by another version of Pagurus; update this one, or move the file away.`,
    );
  } catch (error) {
    db.close();
    throw error;
  }
}

function isLive(row: Row): boolean {
  if (row.host !== hostname()) return Date.now() - row.seen < FOREIGN_STALE_MS;
  if (!processIsAlive(row.pid)) return false;
  const ticks = processStartTicks(row.pid);
  return row.ticks === null || ticks === undefined || ticks === row.ticks;
}
