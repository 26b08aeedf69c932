/** Opening the database file: its pragmas, the SQL function of the index, and what happens to a damaged one. */
import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { PagurusError } from "../../../contract/errors.ts";
import { ensurePrivateDir, writeReason } from "../../../platform/files.ts";
import { openSqlite } from "../../../platform/sqlite.ts";
import { Db } from "./db.ts";
import { migrate, SCHEMA_VERSION, schemaVersion } from "./schema.ts";
import { indexedText } from "./scripts.ts";
import type { StoreNotice } from "./types.ts";

const FILE = "lossless.db";
/** Result codes of SQLite that say that the file is damaged or no database. */
const CORRUPT = 11;
const NOT_A_DATABASE = 26;
const LOG_PAGES = 16_384;
/** A search reads pages all over the file; the worker goes through it once. */
const CACHE_KB = 16_384;
export const WORKER_CACHE_KB = 4_096;

export interface OpenedDatabase {
  file: string;
  db: Db;
  notices: StoreNotice[];
}

/** Throws `store_read_failed`, `store_write_failed`. */
export function openDatabase(agentDir: string): OpenedDatabase {
  ensurePrivateDir(agentDir);
  const file = join(agentDir, FILE);
  const before = identityOf(file);
  try {
    const db = connect(file);
    return { file, db, notices: before === undefined ? [created(file)] : [] };
  } catch (error) {
    if (!isDamage(error)) throw openFailure(file, error);
    // Another process that met the same file may have put a new one in its place.
    const isSame = identityOf(file) === before;
    const notices = isSame ? [rebuilt(file, setAside(file))] : [];
    return { file, db: reconnect(file), notices };
  }
}

function identityOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}

function reconnect(file: string): Db {
  try {
    return connect(file);
  } catch (error) {
    throw openFailure(file, error);
  }
}

function rebuilt(file: string, aside: string): StoreNotice {
  const detail = `${file} was damaged and is now ${basename(aside)}; a new one was made, into which the transcripts are adopted again.`;
  return { kind: "rebuilt_corrupt", detail };
}

function created(file: string): StoreNotice {
  return { kind: "created", detail: `${file} was made; transcripts are adopted when they are opened.` };
}

/** One connection to the file, with its tables at the newest version. Throws what SQLite throws. */
export function connect(file: string, cacheKb = CACHE_KB): Db {
  const raw = openSqlite(file, { synchronous: "NORMAL", busyTimeoutMs: 10_000 });
  try {
    prepare(raw, cacheKb);
    const db = new Db(raw);
    const version = schemaVersion(db);
    if (version > SCHEMA_VERSION) throw tooNew(file, version);
    if (version < SCHEMA_VERSION) migrate(db);
    // A damaged file often opens and breaks at the first page that is read.
    db.get("SELECT num FROM sessions LIMIT 1");
    db.get("SELECT num FROM entries ORDER BY num DESC LIMIT 1");
    db.get("SELECT num FROM texts ORDER BY num DESC LIMIT 1");
    return db;
  } catch (error) {
    raw.close();
    throw error;
  }
}

function prepare(raw: DatabaseSync, cacheKb: number): void {
  raw.exec(`PRAGMA cache_size = -${cacheKb}`);
  // A deletion writes the whole file anew; overwriting page by page would only slow every merge of the index down.
  raw.exec("PRAGMA secure_delete = OFF");
  raw.exec("PRAGMA temp_store = MEMORY");
  // Only where nobody moves the log into the file in time (`store.ts`).
  raw.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
  raw.function("pairs", { deterministic: true }, (text) => indexedText(String(text)));
}

function tooNew(file: string, version: number): PagurusError {
  return new PagurusError(
    "store_read_failed",
    `${file} was made by a newer version of Pagurus (tables ${version}, this one knows ${SCHEMA_VERSION}); update Pagurus.`,
    { details: { file, version } },
  );
}

export function isDamage(error: unknown): boolean {
  const { errcode } = (error ?? {}) as { errcode?: unknown };
  return typeof errcode === "number" && [CORRUPT, NOT_A_DATABASE].includes(errcode & 0xff);
}

function openFailure(file: string, error: unknown): unknown {
  if (error instanceof PagurusError) return error;
  return new PagurusError("store_read_failed", `Cannot open ${file}: ${writeReason(error)}.`, {
    cause: error,
    details: { file },
  });
}

/**
 * Nothing is removed but the index of the log, which says nothing. The log goes first: one that is left behind would be
 * taken for the new file's.
 */
function setAside(file: string): string {
  const aside = `${file}.damaged-${Date.now()}`;
  if (existsSync(`${file}-wal`)) renameSync(`${file}-wal`, `${aside}-wal`);
  renameSync(file, aside);
  rmSync(`${file}-shm`, { force: true });
  return aside;
}

/** Files of earlier damaged databases; they hold words too. */
export function damagedFiles(file: string): string[] {
  const folder = dirname(file);
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${basename(file)}.damaged-`))
    .map((name) => join(folder, name));
}
