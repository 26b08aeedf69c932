/** Sole use of a database file, and putting another one in its place. */
import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { PagurusError } from "../../../contract/errors.ts";
import { fsyncDir } from "../../../platform/files.ts";
import { isDamage } from "../store/open.ts";

const TRY_MS = 100;
/** Result code of SQLite for a file that somebody else uses. */
const BUSY = 5;

function isBusy(error: unknown): boolean {
  const { errcode } = (error ?? {}) as { errcode?: unknown };
  return typeof errcode === "number" && (errcode & 0xff) === BUSY;
}

/** Undefined while another process uses the file. Only its sole user can end the log of a database. */
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
 * Runs `work` while nobody else can use the database, whose log is in the file by then. A damaged file has no users.
 * Throws `store_write_failed` when somebody still uses it after `waitMs`.
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
 * Puts a whole database, which nobody has open, in the place of another: at each moment one of the two is there. Throws
 * `store_write_failed` when somebody uses the old one for longer than `waitMs`.
 */
export async function replaceDatabase(fresh: string, file: string, waitMs: number): Promise<void> {
  await withSoleUse(fresh, waitMs, () => undefined);
  await withSoleUse(file, waitMs, () => {
    // The log of a damaged file would be taken for the new one's.
    for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true });
    renameSync(fresh, file);
    fsyncDir(dirname(file));
  });
}
