/** Opens the database file: pragmas, the SQL function of the index, and replacement of a damaged file. */
import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { ensurePrivateDir, writeReasonAt } from "@pagurus/core/platform/atomic-files";
import { registerRowSum } from "@pagurus/core/platform/row-sums";
import { openSqlite, type Database } from "@pagurus/core/data/sqlite";
import { isDamage, StoreDamage } from "./damage.ts";
import { SCHEMA, SCHEMA_VERSION, writtenVersion } from "./store-schema.ts";
import { indexedText } from "./search/scripts.ts";
import type { StoreNotice } from "./store-types.ts";

const FILE = "lossless.db";
const LOG_PAGES = 16_384;
/** Page cache of the main connection: a search reads pages all over the file. */
const CACHE_KB = 16_384;
export const WORKER_CACHE_KB = 4_096;

export interface OpenedDatabase {
  file: string;
  db: Database;
  notices: StoreNotice[];
}

/** Opens the database, and replaces a damaged file. Throws `store_read_failed`, `store_write_failed`. */
export function openDatabase(agentDir: string): OpenedDatabase {
  ensurePrivateDir(agentDir);
  const file = join(agentDir, FILE);
  const before = identityOf(file);
  try {
    const db = connect(file);
    return { file, db, notices: before === undefined ? [created(file)] : [] };
  } catch (error) {
    if (!isDamage(error)) throw openFailure(file, error);
    // Another process may have replaced the damaged file meanwhile.
    const isSame = identityOf(file) === before;
    const notices = isSame ? [rebuilt(file, setAside(file))] : [];
    return { file, db: reconnect(file), notices };
  }
}

export function identityOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}

function reconnect(file: string): Database {
  try {
    return connect(file);
  } catch (error) {
    throw openFailure(file, error);
  }
}

export function rebuilt(file: string, aside: string): StoreNotice {
  const detail = `${file} was damaged and is now ${basename(aside)}; a new one was made, into which the transcripts are adopted again.`;
  return { kind: "rebuilt_corrupt", detail };
}

function created(file: string): StoreNotice {
  return { kind: "created", detail: `${file} was made; transcripts are adopted when they are opened.` };
}

/** Opens one connection, and creates the tables of a new file. Throws SQLite's errors. */
export function connect(file: string, cacheKb = CACHE_KB): Database {
  const db = openSqlite(file, { synchronous: "NORMAL", busyTimeoutMs: 10_000 });
  try {
    prepareConnection(db.raw, cacheKb);
    if (!db.createTables({ version: SCHEMA_VERSION, schema: SCHEMA })) {
      const version = db.version();
      // The version is in two places; a number in only one of them is a damaged byte.
      if (writtenVersion(db) !== version)
        throw new StoreDamage(`The version ${version} of the tables is in only one of its two places.`);
      throw otherVersion(file, version);
    }
    // A damaged file often opens without an error and fails at the first page read.
    db.get("SELECT num FROM sessions LIMIT 1");
    db.get("SELECT num FROM entries ORDER BY num DESC LIMIT 1");
    db.get("SELECT num FROM texts ORDER BY num DESC LIMIT 1");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function prepareConnection(raw: DatabaseSync, cacheKb: number): void {
  raw.exec(`PRAGMA cache_size = -${cacheKb}`);
  // A deletion rewrites the whole file; overwriting page by page would only slow down every merge of the index.
  raw.exec("PRAGMA secure_delete = OFF");
  raw.exec("PRAGMA temp_store = MEMORY");
  // Fallback for when the worker does not move the log into the file in time (`store.ts`).
  raw.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
  registerRowSum(raw);
  raw.function("pairs", { deterministic: true }, (text) => indexedText(String(text)));
}

function otherVersion(file: string, version: number): PagurusError {
  return new PagurusError(
    "store_read_failed",
    `${file} was made by another version of Pagurus (tables ${version}, this one knows ${SCHEMA_VERSION}); use that one, or update Pagurus.`,
    { details: { file, version } },
  );
}

function openFailure(file: string, error: unknown): unknown {
  if (isPagurusError(error)) return error;
  return new PagurusError("store_read_failed", `Cannot open ${file}: ${writeReasonAt(error, file)}.`, {
    cause: error,
    details: { file },
  });
}

/**
 * Renames the file and its log; only the log's index is removed, which has no data. The log goes first: SQLite would take
 * a remaining log for the new file's.
 */
export function setAside(file: string): string {
  const aside = `${file}.damaged-${Date.now()}`;
  if (existsSync(`${file}-wal`)) renameSync(`${file}-wal`, `${aside}-wal`);
  renameSync(file, aside);
  rmSync(`${file}-shm`, { force: true });
  return aside;
}

/** Files of earlier damaged databases; they contain session text too. */
export function damagedFiles(file: string): string[] {
  const folder = dirname(file);
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${basename(file)}.damaged-`))
    .map((name) => join(folder, name));
}
