/** The index database: schema, and statements that are prepared once. Everything in it is derived. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { openSqlite } from "../platform/sqlite.ts";

export const MEMORY = ":memory:";
/** Raised with every change of the schema; another number in a file means: build it again. */
const SCHEMA_VERSION = 2;
/** A rebuild by another process holds the write lock for one session at a time. */
const BUSY_TIMEOUT_MS = 15_000;

const SCHEMA = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE sessions (
  num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, key TEXT NOT NULL, cwd TEXT NOT NULL,
  created TEXT NOT NULL, updated TEXT NOT NULL, name TEXT, entries INTEGER NOT NULL, bytes INTEGER NOT NULL,
  header_length INTEGER NOT NULL, header_hash TEXT NOT NULL,
  last_offset INTEGER NOT NULL, last_length INTEGER NOT NULL, last_hash TEXT NOT NULL,
  leaf_id TEXT, leaf_end INTEGER NOT NULL, epoch INTEGER NOT NULL, words_bytes INTEGER NOT NULL,
  lines INTEGER NOT NULL, leaf_messages INTEGER NOT NULL,
  generation INTEGER NOT NULL, precedence INTEGER NOT NULL);
CREATE INDEX sessions_by_key ON sessions (key, precedence, id);
CREATE INDEX sessions_by_generation ON sessions (key, generation, id);
CREATE TABLE entries (
  num INTEGER PRIMARY KEY, session INTEGER NOT NULL, id TEXT NOT NULL, offset INTEGER NOT NULL,
  length INTEGER NOT NULL, type TEXT NOT NULL, jump INTEGER, line INTEGER NOT NULL, messages INTEGER NOT NULL);
CREATE UNIQUE INDEX entries_by_id ON entries (session, id);
CREATE INDEX compactions ON entries (session, offset) WHERE type = 'compaction';
CREATE TABLE segments (
  session INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, parent_end INTEGER NOT NULL,
  PRIMARY KEY (session, start)) WITHOUT ROWID;
CREATE TABLE turns (
  session INTEGER NOT NULL, turn TEXT NOT NULL, start INTEGER NOT NULL, commit_end INTEGER,
  unfinalized INTEGER NOT NULL DEFAULT 0, moved INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (session, turn)) WITHOUT ROWID;
CREATE INDEX turns_due ON turns (session, start) WHERE commit_end IS NULL OR unfinalized = 1;
CREATE TABLE spans (
  session INTEGER NOT NULL, turn TEXT NOT NULL, start INTEGER NOT NULL, end INTEGER,
  PRIMARY KEY (session, turn, start)) WITHOUT ROWID;
CREATE TABLE superseded (
  session INTEGER NOT NULL, id TEXT NOT NULL, by_num INTEGER NOT NULL,
  PRIMARY KEY (session, id, by_num)) WITHOUT ROWID;
CREATE TABLE unreadable (
  session INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL, problem TEXT NOT NULL,
  reported INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (session, offset)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (
  t, s, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2");
`;

export class IndexDb {
  readonly db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** Opens or creates the file (or `MEMORY`). Throws what SQLite throws, and on another schema version. */
  constructor(file: string) {
    this.db =
      file === MEMORY
        ? new DatabaseSync(MEMORY)
        : openSqlite(file, { synchronous: "OFF", busyTimeoutMs: BUSY_TIMEOUT_MS });
    try {
      if (this.#version() === 0) {
        this.transaction(() => {
          if (this.#version() !== 0) return;
          this.db.exec(SCHEMA);
          this.db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
        });
      }
      if (this.#version() !== SCHEMA_VERSION) throw new SchemaVersionError();
      this.db.exec("SELECT count(*) FROM sessions; SELECT count(*) FROM words WHERE rowid = 0");
    } catch (error) {
      this.db.close();
      throw error;
    }
  }

  #version(): number {
    const row = this.db.prepare("PRAGMA user_version").get() as { user_version: number };
    return row.user_version;
  }

  get<Row extends object>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined;
  }

  all<Row extends object>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#statement(sql).all(...values) as unknown as Row[];
  }

  /** Number of changed rows. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  /** Runs work in one transaction. SQLite ends it by itself on a full disk, and then the cause is what is thrown. */
  transaction<T>(work: () => T): T {
    this.db.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.db.exec("COMMIT");
      return result;
    } catch (error) {
      if (this.db.isTransaction) this.db.exec("ROLLBACK");
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.db.close();
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

class SchemaVersionError extends Error {}

/** What to do about an error of SQLite: build the file anew, work without a file, or give up. */
export function indexRemedy(error: unknown): "rebuild" | "memory" | "none" {
  if (error instanceof SchemaVersionError) return "rebuild";
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  if (code !== "ERR_SQLITE_ERROR" || typeof errcode !== "number") return "none";
  const primary = errcode & 0xff;
  // CORRUPT 11, NOTADB 26; a table that is missing is a plain ERROR.
  const missing = primary === 1 && String((error as Error).message).includes("no such table");
  if (missing || primary === 11 || primary === 26) return "rebuild";
  // READONLY 8, IOERR 10, FULL 13, CANTOPEN 14.
  return primary === 8 || primary === 10 || primary === 13 || primary === 14 ? "memory" : "none";
}
