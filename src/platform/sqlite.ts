import { chmodSync, existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

export interface OpenSqliteOptions {
  /** `NORMAL` for what must survive a crash of the machine up to the last checkpoint, `OFF` for derived data. */
  synchronous?: "OFF" | "NORMAL" | "FULL";
  readOnly?: boolean;
  /** How long a statement waits for another process's lock, ms. */
  busyTimeoutMs?: number;
}

/** Opens a database in WAL mode with our pragmas; the file is private to the user. Throws what SQLite throws. */
export function openSqlite(path: string, options: OpenSqliteOptions = {}): DatabaseSync {
  const fresh = !existsSync(path);
  const db = new DatabaseSync(path, { readOnly: options.readOnly ?? false });
  try {
    db.exec(`PRAGMA busy_timeout = ${options.busyTimeoutMs ?? 5_000}`);
    if (!options.readOnly) {
      db.exec("PRAGMA journal_mode = WAL");
      db.exec(`PRAGMA synchronous = ${options.synchronous ?? "NORMAL"}`);
      if (fresh) chmodSync(path, 0o600);
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
