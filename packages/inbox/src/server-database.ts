/**
 * Durable state of the host that stays up, in one file of the home: accepted work, events, permission questions, tokens, audit.
 * Acknowledged work is fsynced; the rest survives the process.
 */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { openSqlite, type Database } from "@pagurus/core/data/sqlite";
import { writeReasonAt } from "@pagurus/core/platform/atomic-files";
import { WORK_IMAGES_SCHEMA } from "./work-images.ts";

/** Increased with every change of the schema; a file with another number is refused. */
const VERSION = 2;
/** `limits`, `authority`: JSON. `manual`: moment of a request to run it now. */
const SCHEMA = `
CREATE TABLE work (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, session TEXT NOT NULL,
  kind TEXT NOT NULL, request TEXT NOT NULL, policy TEXT NOT NULL, origin TEXT NOT NULL, token TEXT NOT NULL,
  idempotency TEXT, digest TEXT NOT NULL, state TEXT NOT NULL, into_work TEXT, outcome TEXT, error TEXT,
  posted INTEGER NOT NULL, started INTEGER, ended INTEGER, authority TEXT NOT NULL);
CREATE UNIQUE INDEX work_by_key ON work (token, idempotency) WHERE idempotency IS NOT NULL;
CREATE INDEX work_open ON work (agent, session, seq) WHERE state <> 'ended';
CREATE INDEX work_by_session ON work (agent, session, seq);
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, work TEXT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL,
  type TEXT NOT NULL, data TEXT NOT NULL);
CREATE INDEX events_by_session ON events (agent, session, seq);
CREATE INDEX events_by_work ON events (work, seq);
CREATE TABLE approvals (
  id TEXT PRIMARY KEY, work TEXT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL, call TEXT,
  question TEXT NOT NULL, answer TEXT, answered_by TEXT, asked INTEGER NOT NULL, answered INTEGER);
CREATE INDEX approvals_open ON approvals (work) WHERE answer IS NULL;
CREATE TABLE tokens (
  id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, scope TEXT NOT NULL, sessions TEXT NOT NULL,
  created INTEGER NOT NULL, expires INTEGER, revoked INTEGER, used INTEGER, limits TEXT NOT NULL, parent TEXT);
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, token TEXT NOT NULL, action TEXT NOT NULL,
  agent TEXT, session TEXT, work TEXT);
CREATE TABLE jobs (
  id TEXT PRIMARY KEY, agent TEXT NOT NULL, session TEXT NOT NULL, definition TEXT NOT NULL, paused INTEGER NOT NULL,
  next INTEGER, manual INTEGER, stamp TEXT, last INTEGER, outcome TEXT, created INTEGER NOT NULL);
CREATE INDEX jobs_by_next ON jobs (next) WHERE paused = 0;
CREATE INDEX jobs_manual ON jobs (manual) WHERE manual IS NOT NULL;
CREATE TABLE logins (
  id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL);
${WORK_IMAGES_SCHEMA}`;

export function serverDatabaseFile(home: string): string {
  return join(home, "server", "server.db");
}

/** Opens or creates it. Throws `store_write_failed`, and `store_read_failed` for a file of another version. */
export function openServerDatabase(home: string): Database {
  const file = serverDatabaseFile(home);
  let db: Database;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    db = openSqlite(file, { synchronous: "FULL" });
    // A deleted session's text must not stay in free pages.
    db.raw.exec("PRAGMA secure_delete = ON");
  } catch (error) {
    throw new PagurusError(
      "store_write_failed",
      `The server's database ${file} cannot be opened: ${writeReasonAt(error, file)}.`,
      { cause: error },
    );
  }
  if (db.createTables({ version: VERSION, schema: SCHEMA })) return db;
  const version = db.version();
  db.close();
  throw new PagurusError(
    "store_read_failed",
    `The server's database ${file} has the schema version ${version}, and this Pagurus knows ${VERSION}; use the Pagurus that wrote it.`,
  );
}
