/**
 * Holds: which live program or turn uses a session. The lock of a session is held while its transcript is written; a hold lasts as long as
 * a program follows the session, between its turns too.
 */
import { hash } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import type { SessionHold } from "@pagurus/contract/session/store";
import { ensurePrivateDir } from "@pagurus/core/platform/atomic-files";
import type { Catalog } from "./index/session-catalog.ts";
import { sessionsInFolder, type SessionRow } from "./index/index-rows.ts";
import { firstKeys, furtherKeys } from "./folder-keys.ts";
import { assertSessionKey } from "./keys.ts";
import type { SharedLog } from "./session-lease.ts";
import { heldError, isThisProcess, liveLock, lockedError, SessionLock, type LockOwner } from "./lock.ts";

/** Keys are not valid as file names. */
function fileOf(catalog: Catalog, key: string): string {
  return join(catalog.folder, `.held-${hash("sha256", key, "hex").slice(0, 32)}.lock`);
}

/**
 * Takes the hold for a program or turn. With `folder`, a session that is created under the key meanwhile belongs to that folder. Throws
 * `session_locked` when a live one has it, `session_key_invalid`, `store_write_failed`.
 */
export function holdSession(catalog: Catalog, key: string, folder?: string): SessionHold {
  assertSessionKey(key);
  ensurePrivateDir(catalog.folder);
  const lock = acquireHold(catalog, key, folder);
  try {
    const row = catalog.known(key);
    const writer = row && liveLock(catalog.paths(row.id).lock);
    if (writer) throw lockedError(key, writer);
  } catch (error) {
    lock.release();
    throw error;
  }
  return { sessionKey: key, release: () => lock.release() };
}

function acquireHold(catalog: Catalog, key: string, folder: string | undefined): { release(): void } {
  const file = fileOf(catalog, key);
  const { now, shared } = catalog;
  let lock: SessionLock;
  try {
    lock = SessionLock.acquire({ file, sessionKey: key, epoch: 0, deadlineMs: 0, now, folder });
  } catch (error) {
    if (isPagurusError(error) && error.code === "session_locked") throw heldError(key, liveLock(file));
    throw error;
  }
  return shared ? acquireShared(shared, lock, key, folder) : lock;
}

/** Makes the hold of this host one among all hosts. */
function acquireShared(
  shared: SharedLog,
  lock: SessionLock,
  key: string,
  folder: string | undefined,
): { release(): void } {
  try {
    const held = shared.hold(key, folder);
    if (!held) throw heldError(key, shared.holderOf(key));
    return {
      release: () => {
        held.release();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** The live program or turn that holds a session. */
function holderOf(catalog: Catalog, key: string): LockOwner | undefined {
  return liveLock(fileOf(catalog, key)) ?? catalog.shared?.holderOf(key);
}

/** The folder that a key belongs to, or is held for; undefined when a caller chose the key. */
export function folderOfKey(catalog: Catalog, key: string): string | undefined {
  const row = catalog.known(key);
  return row ? (row.folder ?? undefined) : holderOf(catalog, key)?.folder;
}

/** Throws `session_locked` when a program of another process follows the session. */
export function assertNotHeld(catalog: Catalog, key: string): void {
  const owner = holderOf(catalog, key);
  if (owner && !isThisProcess(owner)) throw heldError(key, owner);
}

/**
 * The current generations of a folder's sessions, last used first. The index gets the entries of a live turn late; without
 * them the session that another process is using would not be the last one.
 */
export function conversationsOf(catalog: Catalog, folder: string): SessionRow[] {
  const read = (): SessionRow[] => catalog.index.use(sessionsInFolder, folder);
  const rows = read();
  const sizeOf = ({ id }: SessionRow): number | undefined =>
    statSync(catalog.paths(id).transcript, { throwIfNoEntry: false })?.size;
  if (rows.every((row) => sizeOf(row) === row.bytes)) return rows;
  catalog.index.sync();
  return read();
}

/** The key of a folder's first session, or the one that it would get now. */
export function firstKey(catalog: Catalog, folder: string): string {
  let synced = false;
  for (const key of firstKeys(folder)) {
    let owner = catalog.known(key) ?? holderOf(catalog, key);
    if (!owner && !synced) {
      // A transcript of another folder that is not indexed yet may have the key.
      catalog.index.sync();
      synced = true;
      owner = catalog.known(key);
    }
    if (!owner || owner.folder === folder) return key;
  }
  throw new PagurusError(
    "internal",
    `No session key is left for the folder ${folder}; name one with --session.`,
  );
}

/**
 * Holds a new session of a folder: under its first key, else with the next number that no session and no live program uses. Throws
 * `store_write_failed`.
 */
export function beginInFolder(catalog: Catalog, folder: string): SessionHold {
  // Includes what other processes created meanwhile.
  catalog.index.sync();
  const from = conversationsOf(catalog, folder).length + 1;
  for (;;) {
    const first = firstKey(catalog, folder);
    for (const key of [first, ...furtherKeys(first, from)]) {
      const hold = catalog.known(key) ? undefined : tryHold(catalog, key, folder);
      if (!hold) continue;
      catalog.index.sync();
      if (!catalog.known(key)) return hold;
      // Another process created and released it meanwhile.
      hold.release();
    }
  }
}

function tryHold(catalog: Catalog, key: string, folder: string): SessionHold | undefined {
  try {
    return holdSession(catalog, key, folder);
  } catch (error) {
    if (isPagurusError(error) && error.code === "session_locked") return undefined;
    throw error;
  }
}
