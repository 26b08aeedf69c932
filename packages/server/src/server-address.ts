/** Where the server of a home is: a lock that a live process holds, its address, and the key of this user's own commands. */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { countOf, fieldOf, filledString, parseJson } from "@pagurus/core/data/record-fields";
import { writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import { liveOwner, SessionLock } from "@pagurus/host/stores/files/lock";

export interface ServerAddress {
  url: string;
  pid: number;
  /** ISO 8601. */
  startedAt: string;
  /** Whether it starts itself again at `RESTART_SIGNAL`. */
  restarts?: boolean;
}

export const RESTART_SIGNAL = "SIGUSR2";

interface ServerFiles {
  folder: string;
  lock: string;
  address: string;
  key: string;
}

export function serverFiles(home: string): ServerFiles {
  const folder = join(home, "server");
  return {
    folder,
    lock: join(folder, "server.lock"),
    address: join(folder, "server.json"),
    key: join(folder, "local-key"),
  };
}

/** The server that runs for a home; undefined where none does. */
export function runningServer(home: string): ServerAddress | undefined {
  const { lock, address } = serverFiles(home);
  const owner = liveOwner(lock);
  if (!owner) return undefined;
  const known = readAddress(address);
  return known?.pid === owner.pid ? known : undefined;
}

/** As `runningServer`. Throws `server_not_running` where none does. */
export function requireServer(home: string): ServerAddress {
  const found = runningServer(home);
  if (found) return found;
  throw notRunning(home);
}

function notRunning(home: string, cause?: unknown): PagurusError {
  return new PagurusError(
    "server_not_running",
    `No server of ${home} is running; start it with pagurus serve.`,
    { cause },
  );
}

function readAddress(file: string): ServerAddress | undefined {
  try {
    const value = parseJson(readFileSync(file, "utf8"));
    const url = filledString(fieldOf(value, "url"));
    const pid = countOf(fieldOf(value, "pid"));
    const startedAt = filledString(fieldOf(value, "startedAt")) ?? "";
    const restarts = fieldOf(value, "restarts") === true;
    return url === undefined || pid === undefined ? undefined : { url, pid, startedAt, restarts };
  } catch {
    // The server is starting, or has removed it.
    return undefined;
  }
}

/** The key that a server gives to this user's own commands. Throws `server_not_running`. */
export function localKey(home: string): string {
  try {
    return readFileSync(serverFiles(home).key, "utf8").trim();
  } catch (cause) {
    throw notRunning(home, cause);
  }
}

/** Holds the home for one server. */
export class ServerPlace {
  readonly #files: ServerFiles;
  readonly #lock: SessionLock;

  private constructor(files: ServerFiles, lock: SessionLock) {
    this.#files = files;
    this.#lock = lock;
  }

  /** Throws `server_running` with the other server's address, `store_write_failed`. */
  static take(home: string): ServerPlace {
    const files = serverFiles(home);
    mkdirSync(files.folder, { recursive: true, mode: 0o700 });
    try {
      return new ServerPlace(files, SessionLock.hold(files.lock, "server"));
    } catch (error) {
      if (!isPagurusError(error) || error.code !== "session_locked") throw error;
      const other = runningServer(home);
      const where = other ? `at ${other.url} (process ${other.pid})` : "and is just starting";
      throw new PagurusError(
        "server_running",
        `A server of ${home} runs already, ${where}; use that one, or stop it with pagurus serve stop.`,
        { details: { ...other } },
      );
    }
  }

  /** Writes the key for this user's own commands. */
  writeKey(key: string): void {
    writeFileAtomic(this.#files.key, `${key}\n`);
  }

  announce(address: ServerAddress): void {
    writeFileAtomic(this.#files.address, JSON.stringify(address));
  }

  release(): void {
    for (const file of [this.#files.address, this.#files.key]) rmSync(file, { force: true });
    this.#lock.release();
  }
}
