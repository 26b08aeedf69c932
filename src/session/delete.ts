import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { PagurusError } from "../contract/errors.ts";
import { fsyncDir } from "../platform/files.ts";
import { notFound, type Catalog } from "./catalog.ts";
import { forgetChange } from "./changes.ts";
import { writeFailure } from "./failures.ts";
import { removeSession, sessionRow, type SessionRow } from "./index-rows.ts";
import { SessionLock } from "./lock.ts";

/**
 * Removes every generation of a key with all its files and each of its words in the index. The index remembers
 * that it has to be scrubbed until it was, so a crash in between leaves nothing for good. Throws
 * `session_not_found`, `session_locked`, `store_write_failed`.
 */
export function deleteSessions(catalog: Catalog, key: string): { sessions: number; bytes: number } {
  const rows = catalog.generations(key);
  if (rows.length === 0) throw notFound(key);
  const locks: (SessionLock | undefined)[] = [];
  let bytes = 0;
  try {
    for (const row of rows) locks.push(lockOf(catalog, row));
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

/** A full disk has no room for a lock, and is why people delete: then it is enough that nobody holds one. */
function lockOf(catalog: Catalog, row: SessionRow): SessionLock | undefined {
  const { lock } = catalog.paths(row.id);
  try {
    return SessionLock.acquire({
      file: lock,
      sessionKey: row.key,
      epoch: row.epoch,
      deadlineMs: 0,
      now: catalog.now,
    });
  } catch (error) {
    const full =
      error instanceof PagurusError && ["ENOSPC", "EDQUOT"].includes(String(error.details["code"]));
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

/** Everything named after the session; its lock last, so that nobody opens what is half gone. */
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
