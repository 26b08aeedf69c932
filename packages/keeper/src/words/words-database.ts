/** The words of what is kept: conversations, their records, and a full text index. Made of the archive's bytes, and can be made of them again. */
import { join } from "node:path";
import { rmSync } from "node:fs";
import { PagurusError } from "@pagurus/contract/errors";
import { openSqlite, type Database } from "@pagurus/core/data/sqlite";

const TABLES = {
  version: 3,
  schema: `
CREATE TABLE conversations (
  id INTEGER PRIMARY KEY, agent TEXT NOT NULL, native TEXT NOT NULL, parent TEXT, folder TEXT, title TEXT,
  first_at INTEGER, last_at INTEGER,
  first_num INTEGER, last_num INTEGER, UNIQUE (agent, native));
CREATE TABLE marks (
  file INTEGER PRIMARY KEY, version INTEGER NOT NULL, offset INTEGER NOT NULL, size INTEGER NOT NULL, at INTEGER, program TEXT);
CREATE TABLE records (
  num INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, file INTEGER NOT NULL, version INTEGER NOT NULL,
  seq INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL, role INTEGER NOT NULL, at INTEGER,
  sum INTEGER NOT NULL, key TEXT, is_replaced INTEGER NOT NULL DEFAULT 0);
CREATE TABLE understood (
  agent TEXT NOT NULL, version TEXT NOT NULL, lines INTEGER NOT NULL, unread INTEGER NOT NULL,
  PRIMARY KEY (agent, version)) WITHOUT ROWID;
CREATE INDEX records_conversation ON records (conversation);
CREATE INDEX records_sum ON records (file, sum);
CREATE INDEX records_key ON records (file, key) WHERE key IS NOT NULL`,
};

/** Whether the conversation `c` is of a folder or of one below it; without a folder all are. */
export const IN_FOLDER = (folder: string): string =>
  `(${folder} IS NULL OR c.folder = ${folder} OR substr(c.folder, 1, length(${folder}) + 1) = ${folder} || '/')`;

export function openWords(folder: string, writable: boolean): Database {
  const file = join(folder, "words.db");
  let db = openSqlite(file, { readOnly: !writable, synchronous: "OFF" });
  if (writable && db.version() !== 0 && db.version() !== TABLES.version) {
    // Of another version: made again.
    db.close();
    for (const part of ["", "-wal", "-shm"]) rmSync(file + part, { force: true });
    db = openSqlite(file, { synchronous: "OFF" });
  }
  if (writable ? db.createTables(TABLES) : db.version() === TABLES.version) return db;
  db.close();
  throw new PagurusError(
    "store_read_failed",
    `${file} was written by another version of Pagurus; pagurus keep once makes it again.`,
  );
}

export interface ConversationRow {
  /** Number in the archive. */
  id: number;
  agent: string;
  /** Its id at the program. */
  native: string;
  parent: string | null;
  folder: string | null;
  title: string | null;
  first_at: number | null;
  last_at: number | null;
  /** Numbers of its first and its last record. */
  first_num: number | null;
  last_num: number | null;
}

export interface RecordRow {
  num: number;
  conversation: number;
  file: number;
  version: number;
  /** Its place in a file that is read as a whole. */
  seq: number;
  offset: number;
  /** Bytes of its line; 0 in a file that is read as a whole. */
  length: number;
  role: number;
  at: number | null;
  sum: number;
  key: string | null;
  is_replaced: number;
}
