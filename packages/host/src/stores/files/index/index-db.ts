/** The index database: its schema, and what to do after an error. All its data is derived. */
import { registerRowSum } from "@pagurus/core/platform/row-sums";
import { openSqlite, type Database } from "@pagurus/core/data/sqlite";
import { IndexDamage, indexTriggers } from "./index-sums.ts";

/** Increased with every change of the schema; a file with another number is rebuilt. */
const SCHEMA_VERSION = 7;
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
  generation INTEGER NOT NULL, precedence INTEGER NOT NULL, sum INTEGER, folder TEXT, title TEXT);
CREATE INDEX sessions_by_folder ON sessions (folder, updated) WHERE folder IS NOT NULL;
CREATE INDEX sessions_by_key ON sessions (key, precedence, id);
CREATE INDEX sessions_by_generation ON sessions (key, generation, id);
CREATE TABLE entries (
  num INTEGER PRIMARY KEY, session INTEGER NOT NULL, id TEXT NOT NULL, offset INTEGER NOT NULL,
  length INTEGER NOT NULL, type TEXT NOT NULL, jump INTEGER, line INTEGER NOT NULL, messages INTEGER NOT NULL,
  sum INTEGER);
CREATE UNIQUE INDEX entries_by_id ON entries (session, id);
CREATE INDEX compactions ON entries (session, offset) WHERE type = 'compaction';
CREATE INDEX engine_entries ON entries (session, offset) WHERE type = 'engine';
CREATE TABLE segments (
  session INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, parent_end INTEGER NOT NULL,
  sum INTEGER, PRIMARY KEY (session, start)) WITHOUT ROWID;
CREATE TABLE turns (
  session INTEGER NOT NULL, turn TEXT NOT NULL, start INTEGER NOT NULL, commit_end INTEGER,
  unfinalized INTEGER NOT NULL DEFAULT 0, moved INTEGER NOT NULL DEFAULT 0,
  sum INTEGER, PRIMARY KEY (session, turn)) WITHOUT ROWID;
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
${indexTriggers()}`;

/** Opens or creates the file (or `MEMORY`). Throws SQLite's errors, and on another schema version. */
export function openIndex(file: string): Database {
  const db = openSqlite(file, { synchronous: "OFF", busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    registerRowSum(db.raw);
    if (!db.createTables({ version: SCHEMA_VERSION, schema: SCHEMA })) throw new SchemaVersionError();
    db.raw.exec("SELECT count(*) FROM sessions; SELECT count(*) FROM words WHERE rowid = 0");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

class SchemaVersionError extends Error {}

/** The file has another version of the index: it is not damaged. */
export function isOtherSchema(error: unknown): boolean {
  return error instanceof SchemaVersionError;
}

/** Remedy for an SQLite error: rebuild the file, work without a file, or give up. */
export function indexRemedy(error: unknown): "rebuild" | "memory" | "none" {
  if (error instanceof SchemaVersionError || error instanceof IndexDamage) return "rebuild";
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  if (code !== "ERR_SQLITE_ERROR" || typeof errcode !== "number") return "none";
  const primary = errcode & 0xff;
  // CORRUPT 11, CONSTRAINT 19, MISMATCH 20, NOTADB 26; a missing name is a plain ERROR.
  const missing =
    primary === 1 && /no such (?:table|column|index|module)|malformed/.test(String((error as Error).message));
  if (missing || [11, 19, 20, 26].includes(primary)) return "rebuild";
  // READONLY 8, IOERR 10, FULL 13, CANTOPEN 14.
  return primary === 8 || primary === 10 || primary === 13 || primary === 14 ? "memory" : "none";
}
