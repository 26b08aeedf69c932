import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isPagurusError } from "../../contract/errors.ts";
import { fsyncDir } from "../../platform/atomic-files.ts";
import { notFound, type Catalog } from "./index/session-catalog.ts";
import { forgetChange } from "./transcript/changes.ts";
import { writeFailure } from "./failures.ts";
import { removeSession, sessionRow, type SessionRow } from "./index/index-rows.ts";
import { assertNotHeld } from "./hold.ts";
import type { SessionLease } from "./session-lease.ts";

/**
 * Removes every generation of a key with all its files and all its words in the index. The index keeps a scrub mark until it was scrubbed,
 * so a crash in between leaves nothing permanently. Throws `session_not_found`, `session_locked`, `store_write_failed`.
 */
export function deleteSessions(catalog: Catalog, key: string): { sessions: number; bytes: number } {
  const rows = catalog.generations(key);
  if (rows.length === 0) throw notFound(key);
  assertNotHeld(catalog, key);
  const locks: (SessionLease | undefined)[] = [];
  let bytes = 0;
  try {
    for (const row of rows) locks.push(lockOf(catalog, row));
    catalog.shared?.remove(rows.map(({ id }) => id));
    catalog.index.use((db) => db.run("INSERT OR REPLACE INTO meta (name, value) VALUES ('scrub', '1')"));
    for (const row of rows) {
      bytes += removeFiles(catalog, row.id);
      catalog.index.use((db) =>
        db.transaction(() => {
          const present = sessionRow(db, row.id);
          if (present) removeSession(db, present.num);
          forgetChange(db, row.id);
        }),
      );
    }
    catalog.index.scrub();
  } catch (error) {
    throw writeFailure(error, catalog.folder);
  } finally {
    for (const lock of locks) lock?.release();
  }
  return { sessions: rows.length, bytes };
}

/** A full disk has no space for a lock file, and is why people delete: then it is enough that no process holds one. */
function lockOf(catalog: Catalog, row: SessionRow): SessionLease | undefined {
  const { lock } = catalog.paths(row.id);
  try {
    return catalog.lease(row, row.epoch, 0);
  } catch (error) {
    const full = isPagurusError(error) && ["ENOSPC", "EDQUOT"].includes(String(error.details["code"]));
    if (full && !existsSync(lock)) return undefined;
    throw error;
  }
}

/** Bytes of a file, or of the files in a folder. */
function sizeOf(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return found?.size ?? 0;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

/** Removes all files named after the session; its lock last, so that no process opens a half-deleted session. */
function removeFiles(catalog: Catalog, sessionId: string): number {
  const { folder } = catalog;
  let bytes = 0;
  const isNamedAfter = (name: string, id: string): boolean =>
    name.startsWith(`${id}.`) || name.startsWith(`.${id}.`);
  // An id that an engine chose may begin with another one and a dot.
  const longer = catalog.index
    .use((db) => db.all<{ id: string }>("SELECT id FROM sessions WHERE length(id) > ?", sessionId.length))
    .filter(({ id }) => id.startsWith(`${sessionId}.`));
  const names = readdirSync(folder).filter(
    (name) => isNamedAfter(name, sessionId) && !longer.some(({ id }) => isNamedAfter(name, id)),
  );
  const isLock = (name: string): number => (name.endsWith(".lock") ? 1 : 0);
  for (const name of names.toSorted((a, b) => isLock(a) - isLock(b))) {
    const file = join(folder, name);
    if (isLock(name) === 0) bytes += sizeOf(file);
    rmSync(file, { force: true, recursive: true });
  }
  fsyncDir(folder);
  return bytes;
}
