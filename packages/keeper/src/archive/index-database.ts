/** The index of an archive: which file had which bytes when, and where its blocks are. It is made of the notes in the packs, and can be made of them again. */
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { openSqlite, type Database } from "@pagurus/core/data/sqlite";

const TABLES = {
  version: 1,
  schema: `
CREATE TABLE marks (name TEXT PRIMARY KEY, pack INTEGER NOT NULL, offset INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE blocks (
  hash BLOB PRIMARY KEY, pack INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
  has_dictionary INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
  id INTEGER PRIMARY KEY, agent TEXT NOT NULL, path TEXT NOT NULL, state TEXT NOT NULL,
  version INTEGER NOT NULL, size INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
  stat TEXT NOT NULL DEFAULT '', inode TEXT NOT NULL DEFAULT '');
CREATE INDEX files_path ON files (path);
CREATE INDEX files_inode ON files (inode);
CREATE TABLE versions (
  file INTEGER NOT NULL, version INTEGER NOT NULL, at INTEGER NOT NULL, shared INTEGER NOT NULL,
  size INTEGER NOT NULL, PRIMARY KEY (file, version)) WITHOUT ROWID;
CREATE TABLE extents (
  file INTEGER NOT NULL, version INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
  hash BLOB NOT NULL, PRIMARY KEY (file, version, offset)) WITHOUT ROWID;
CREATE TABLE events (
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, file INTEGER NOT NULL, agent TEXT NOT NULL,
  path TEXT NOT NULL, bytes INTEGER NOT NULL)`,
};

/** Throws `store_read_failed` for an index of another version. */
export function openIndex(folder: string, writable: boolean): Database {
  const file = join(folder, "index.db");
  const db = openSqlite(file, { readOnly: !writable });
  const isOurs = writable ? db.createTables(TABLES) : db.version() === TABLES.version;
  if (isOurs) return db;
  db.close();
  throw new PagurusError(
    "store_read_failed",
    `${file} was written by another version of Pagurus; update, or remove it: it is made again from the packs.`,
  );
}
