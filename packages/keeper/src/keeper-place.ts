/** Files of the keeper in a home. */
import { join } from "node:path";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { ensurePrivateDir } from "@pagurus/core/platform/atomic-files";
import { liveOwner, SessionLock } from "@pagurus/host/stores/files/lock";

export interface KeeperPlace {
  folder: string;
  lock: string;
  /** Folder for copies of databases that are in use. */
  copies: string;
}

export function keeperPlace(home: string): KeeperPlace {
  const folder = join(home, "keeper");
  return { folder, lock: join(folder, "keeper.lock"), copies: join(folder, "copies") };
}

/** The process that keeps, if one does. */
export function runningKeeper(home: string): { pid: number; since: string } | undefined {
  return liveOwner(keeperPlace(home).lock);
}

/** Throws `session_locked` where another process keeps already. */
export function lockKeeper(home: string): SessionLock {
  const { folder, lock } = keeperPlace(home);
  ensurePrivateDir(folder);
  try {
    return SessionLock.hold(lock, "keeper");
  } catch (error) {
    const other = isPagurusError(error) ? runningKeeper(home) : undefined;
    if (!other) throw error;
    throw new PagurusError(
      "session_locked",
      `Process ${other.pid} keeps already; pagurus keep status shows what it has.`,
      { cause: error },
    );
  }
}
