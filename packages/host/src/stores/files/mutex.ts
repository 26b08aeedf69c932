import { DatabaseSync } from "node:sqlite";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { writeFailure } from "./failures.ts";

/** Longest wait for another process's few file operations, ms. */
const WAIT_MS = 10_000;

/**
 * Runs `work` while no other process does the same in this folder. It uses the kernel lock of an empty SQLite file, which is released when
 * a process dies, unlike a lock file; it is held for microseconds, never across a turn. Throws `store_write_failed` when the folder cannot
 * be written.
 */
export function withMutex<T>(folder: string, work: () => T): T {
  const file = join(folder, ".mutex");
  let db: DatabaseSync;
  try {
    db = new DatabaseSync(file);
  } catch (error) {
    throw writeFailure(error, file);
  }
  try {
    try {
      db.exec(`PRAGMA busy_timeout = ${WAIT_MS}`);
      db.exec("BEGIN EXCLUSIVE");
      chmodSync(file, 0o600);
    } catch (error) {
      throw writeFailure(error, file);
    }
    return work();
  } finally {
    // Closing rolls the empty transaction back and frees the lock.
    db.close();
  }
}
