import { chmodSync, existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

export interface OpenSqliteOptions {
  /** `NORMAL` for what must survive a crash of the machine up to the last checkpoint, `OFF` for derived data. */
  synchronous?: "OFF" | "NORMAL" | "FULL";
  readOnly?: boolean;
  /** How long a statement waits for another process's lock, ms. */
  busyTimeoutMs?: number;
}

const BUSY = 5;
const RETRY_MS = 5;

/**
 * SQLite does not wait while it changes the journal's mode: of processes that make one file at the same moment all but one
 * are refused at once.
 */
function patiently(ms: number, work: () => void): void {
  const until = performance.now() + ms;
  for (;;) {
    try {
      return work();
    } catch (error) {
      const { errcode } = error as { errcode?: unknown };
      const isBusy = typeof errcode === "number" && (errcode & 0xff) === BUSY;
      if (!isBusy || performance.now() > until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

/** Opens a database in WAL mode with our pragmas; the file is private to the user. Throws what SQLite throws. */
export function openSqlite(path: string, options: OpenSqliteOptions = {}): DatabaseSync {
  const fresh = !existsSync(path);
  const db = new DatabaseSync(path, { readOnly: options.readOnly ?? false });
  const busyTimeoutMs = options.busyTimeoutMs ?? 5_000;
  try {
    db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    if (!options.readOnly) {
      patiently(busyTimeoutMs, () => db.exec("PRAGMA journal_mode = WAL"));
      db.exec(`PRAGMA synchronous = ${options.synchronous ?? "NORMAL"}`);
      if (fresh) chmodSync(path, 0o600);
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
