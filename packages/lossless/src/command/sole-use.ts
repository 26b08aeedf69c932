/** Exclusive use of a database file, and replacing it. */
import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { PagurusError } from "@pagurus/contract/errors";
import { fsyncDir } from "@pagurus/core/platform/atomic-files";
import { isDamage } from "../store/damage.ts";

const TRY_MS = 100;
/** SQLite's result code for a file that another connection uses. */
const BUSY = 5;

function isBusy(error: unknown): boolean {
  const { errcode } = (error ?? {}) as { errcode?: unknown };
  return typeof errcode === "number" && (errcode & 0xff) === BUSY;
}

/** Takes exclusive use; undefined while another process uses the file. Only the sole user can end a database's log. */
function take(file: string): DatabaseSync | undefined {
  const db = new DatabaseSync(file);
  try {
    db.exec("PRAGMA busy_timeout = 0");
    const row = db.prepare("PRAGMA journal_mode = DELETE").get() as { journal_mode?: unknown } | undefined;
    if (row?.journal_mode === "delete") {
      db.exec("BEGIN EXCLUSIVE");
      return db;
    }
    db.close();
    return undefined;
  } catch (error) {
    db.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}

/**
 * Runs `work` with exclusive use of the database, after its log was moved into the file. A damaged file has no users.
 * Throws `store_write_failed` when another process still uses it after `waitMs`.
 */
export async function withSoleUse<T>(file: string, waitMs: number, work: () => T): Promise<T> {
  if (!existsSync(file)) return work();
  for (let waited = 0; ; waited += TRY_MS) {
    let held: DatabaseSync | undefined;
    try {
      held = take(file);
      if (held) return work();
    } catch (error) {
      if (held || !isDamage(error)) throw error;
      return work();
    } finally {
      held?.close();
    }
    if (waited >= waitMs) throw inUse(file);
    await setTimeout(TRY_MS);
  }
}

function inUse(file: string): PagurusError {
  return new PagurusError(
    "store_write_failed",
    `${file} is in use by another process, so it stays as it is; end the chats and turns of this agent and try again.`,
    { details: { file } },
  );
}

/**
 * Replaces a database atomically with another one that no process has open. Throws `store_write_failed` when another
 * process uses the old one for longer than `waitMs`.
 */
export async function replaceDatabase(fresh: string, file: string, waitMs: number): Promise<void> {
  await withSoleUse(fresh, waitMs, () => undefined);
  await withSoleUse(file, waitMs, () => {
    // SQLite would take the log of a damaged file for the new file's.
    for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true });
    renameSync(fresh, file);
    fsyncDir(dirname(file));
  });
}
