/** A copy of another program's SQLite database that is in use, at one moment, without a change at the source. */
import { constants, copyFileSync, rmSync, statSync } from "node:fs";
import { backup, DatabaseSync } from "node:sqlite";
import { PagurusError } from "@pagurus/contract/errors";
import { attempt } from "@pagurus/core/data/attempt";

/** Files beside a database that have a part of its content. */
const PARTS = ["", "-wal", "-journal"];
const TRIES = 4;

/** Changes with each write to the database. */
export function databaseStat(path: string): string {
  const stats = PARTS.map((part) => attempt(() => statSync(path + part, { bigint: true })));
  return stats
    .map((stat) => (stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}` : "none"))
    .join("; ");
}

/** Makes `copy`, a whole database in one file. Throws the errors of the system and of SQLite. */
export async function copyDatabase(path: string, copy: string): Promise<void> {
  for (let tried = 0; tried < TRIES; tried += 1) {
    const before = databaseStat(path);
    removeCopy(copy);
    for (const part of PARTS) copyPart(path + part, copy + part);
    if (databaseStat(path) === before && isSound(copy)) return;
  }
  // It is written all the time: SQLite waits for a pause between two writes.
  removeCopy(copy);
  const source = new DatabaseSync(path, { readOnly: true });
  try {
    await backup(source, copy);
  } finally {
    source.close();
  }
  if (!isSound(copy))
    throw new PagurusError(
      "store_read_failed",
      `The database ${path} is damaged; its bytes are kept as they are.`,
    );
}

export function removeCopy(copy: string): void {
  for (const part of [...PARTS, "-shm"]) rmSync(copy + part, { force: true });
}

function copyPart(from: string, to: string): void {
  try {
    copyFileSync(from, to, constants.COPYFILE_FICLONE);
  } catch (error) {
    // A database without a log.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/** Takes the log into the copy. */
function isSound(copy: string): boolean {
  return (
    attempt(() => {
      const db = new DatabaseSync(copy);
      try {
        db.exec("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
        return db.prepare("PRAGMA quick_check(1)").get()?.["quick_check"] === "ok";
      } finally {
        db.close();
      }
    }) ?? false
  );
}
