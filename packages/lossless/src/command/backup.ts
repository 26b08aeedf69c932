import { existsSync, linkSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { withStore, type CarePlace } from "./store-files.ts";

/**
 * Copies a consistent snapshot of the database, also while it is in use; returns its bytes. The copy gets its name only
 * when it is complete, and never overwrites a file. Throws `usage_invalid`, `store_write_failed`.
 */
export function backupStore(place: CarePlace, target: string): Promise<number> {
  return withStore(place, async (store) => {
    if (existsSync(target)) throw taken(target);
    const temporary = join(dirname(target), `.${basename(target)}.${process.pid}.tmp`);
    rmSync(temporary, { force: true });
    try {
      await store.backup(temporary);
      publishBackup(temporary, target);
    } finally {
      rmSync(temporary, { force: true });
    }
    return statSync(target).size;
  });
}

/** Gives a complete file its name without overwriting another file. */
function publishBackup(temporary: string, target: string): void {
  try {
    linkSync(temporary, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw taken(target);
    // The file system has no hard links.
    renameSync(temporary, target);
  }
}

function taken(target: string): PagurusError {
  return new PagurusError(
    "usage_invalid",
    `The file "${target}" exists already; remove it or choose another name.`,
  );
}
