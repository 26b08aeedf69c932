/**
 * Deletion of sessions. A record of it is written before anything is removed, so that a crash leaves nothing for good: the next use of the
 * store finishes what the record names.
 */
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isPagurusError } from "@pagurus/contract/errors";
import { fsyncDir } from "@pagurus/core/platform/atomic-files";
import {
  flagsOf,
  type DeletedSession,
  type DeletedThread,
  type DeletionRecord,
  type PendingDeletion,
} from "@pagurus/core/platform/deletions";
import { boundTo } from "./bindings.ts";
import { notFound, type Catalog } from "./index/session-catalog.ts";
import { forgetChange } from "./transcript/changes.ts";
import { systemCode, writeFailure } from "./failures.ts";
import { removeSession, sessionRow } from "./index/index-rows.ts";
import { assertNotHeld } from "./hold.ts";
import type { SessionLease } from "./session-lease.ts";

/** What the lock of a session needs. */
interface Locked {
  id: string;
  key: string;
  epoch: number;
}

/**
 * Removes every generation of the keys with all its files and all its words in the index, as one: every session is locked before the first
 * is removed. Throws `session_not_found` for the first key, `session_locked`, `store_write_failed`.
 */
export function deleteSessions(
  catalog: Catalog,
  keys: readonly [string, ...string[]],
): { sessions: number; bytes: number } {
  if (catalog.generations(keys[0]).length === 0) throw notFound(keys[0]);
  const rows = keys.flatMap((key) => catalog.generations(key));
  for (const key of keys) assertNotHeld(catalog, key);
  const bytes = catalog.deletions.during(() =>
    whileLocked(catalog, rows, () => {
      const deletion = { at: catalog.now(), sessions: rows.map(placeOf), threads: threadsOf(catalog, rows) };
      return removeAll(catalog, deletion.sessions, catalog.deletions.begin(deletion), rows);
    }),
  );
  return { sessions: rows.length, bytes };
}

/** Finishes deletions that a crash interrupted. One whose sessions are locked, or that fails again, stays for the next time. */
export function resumeDeletions(catalog: Catalog): void {
  for (const left of catalog.deletions.begun()) {
    try {
      catalog.deletions.during(() => resumeDeletion(catalog, left));
    } catch (error) {
      // The process that deletes is at it.
      if (isPagurusError(error) && error.code === "session_locked") continue;
      const code = isPagurusError(error) ? error.code : systemCode(error);
      catalog.logger.warn("an interrupted deletion is not finished", { file: left.file, code });
    }
  }
}

/** Removes what this host has of sessions that another host deleted. */
export function forgetSessions(catalog: Catalog, sessions: readonly DeletedSession[]): void {
  catalog.deletions.during(() => {
    const threads = threadsOf(catalog, sessions);
    removeAll(catalog, sessions, catalog.deletions.begin({ at: catalog.now(), sessions, threads }), []);
  });
}

function resumeDeletion(catalog: Catalog, { at, sessions: named, threads }: PendingDeletion): void {
  const { shared } = catalog;
  const rows = new Map(named.map(({ id }) => [id, catalog.index.ensure(id)?.row]));
  const sessions = named.map(({ id, key }) => ({ id, key: key === "" ? (rows.get(id)?.key ?? "") : key }));
  const gone = new Set(shared?.removed(sessions.map(({ id }) => id)));
  const present = sessions.flatMap(({ id, key }): Locked[] => {
    const row = rows.get(id);
    const isThere = shared ? !gone.has(id) : row !== undefined;
    return isThere ? [{ id, key, epoch: row?.epoch ?? 0 }] : [];
  });
  whileLocked(catalog, present, () => {
    const known = threads.length > 0 ? threads : threadsOf(catalog, sessions);
    removeAll(catalog, sessions, catalog.deletions.begin({ at, sessions, threads: known }), present);
  });
}

/** Bytes of the removed files. `held`: the sessions whose locks are held. */
function removeAll(
  catalog: Catalog,
  sessions: readonly DeletedSession[],
  record: DeletionRecord,
  held: readonly Locked[],
): number {
  try {
    removeShared(catalog, held, record);
    catalog.index.use((db) => db.run("INSERT OR REPLACE INTO meta (name, value) VALUES ('scrub', '1')"));
    let bytes = 0;
    for (const { id } of sessions) {
      bytes += removeFiles(catalog, id);
      record.complete();
      catalog.index.use((db) =>
        db.transaction(() => {
          const present = sessionRow(db, id);
          if (present) removeSession(db, present.num);
          forgetChange(db, id);
        }),
      );
    }
    catalog.index.scrub();
    record.removed();
    return bytes;
  } catch (error) {
    throw writeFailure(error, catalog.folder);
  }
}

function removeShared({ shared }: Catalog, held: readonly Locked[], record: DeletionRecord): void {
  if (!shared || held.length === 0) return;
  try {
    shared.remove(held.map(({ id }) => id));
  } catch (error) {
    // Another host has taken the session over, and nothing was removed.
    if (isPagurusError(error) && error.code === "lock_lost") record.withdraw();
    throw error;
  }
}

function whileLocked<T>(catalog: Catalog, rows: readonly Locked[], work: () => T): T {
  const locks: (SessionLease | undefined)[] = [];
  try {
    for (const row of rows) locks.push(lockOf(catalog, row));
    return work();
  } catch (error) {
    throw writeFailure(error, catalog.folder);
  } finally {
    for (const lock of locks) lock?.release();
  }
}

function placeOf({ key, id }: Locked): DeletedSession {
  return { key, id };
}

function threadsOf({ folder }: Catalog, sessions: readonly DeletedSession[]): DeletedThread[] {
  return sessions.flatMap(({ id }) =>
    boundTo(folder, id).map(([runtime, { nativeId, state }]) => ({
      runtime,
      nativeId,
      state: flagsOf(state),
    })),
  );
}

/** A full disk has no space for a lock file, and is why people delete: then it is enough that no process holds one. */
function lockOf(catalog: Catalog, row: Locked): SessionLease | undefined {
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
  if (!existsSync(folder)) return 0;
  let bytes = 0;
  const isNamedAfter = (name: string, id: string): boolean =>
    name.startsWith(`${id}.`) || name.startsWith(`.${id}.`);
  // An id that an engine chose may begin with another one and a dot, which "/" follows.
  const longer = catalog.index.use((db) =>
    db.all<{ id: string }>(
      "SELECT id FROM sessions WHERE id > ? AND id < ?",
      `${sessionId}.`,
      `${sessionId}/`,
    ),
  );
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
