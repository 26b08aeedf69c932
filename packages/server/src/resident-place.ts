/** Files of the resident host of a home: a folder that this user alone may enter. */
import { chmodSync, lstatSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { countOf, fieldOf, filledString, parseJson } from "@pagurus/core/data/record-fields";
import { attempt } from "@pagurus/core/data/attempt";
import { PagurusError } from "@pagurus/contract/errors";
import { writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import { liveOwner, SessionLock } from "@pagurus/host/stores/files/lock";

/** The system's limit for the path of a socket, bytes: 108 on Linux, 104 elsewhere, with a zero at its end. */
const LONGEST_SOCKET = process.platform === "linux" ? 107 : 103;

export interface ResidentFiles {
  folder: string;
  socket: string;
  /** Socket for the adapters in other programs. */
  inside: string;
  /** Secret that a client sends: who may read it may use the host. */
  key: string;
  lock: string;
  facts: string;
}

/** The names that bin/thin.js knows too. */
export function residentFiles(home: string): ResidentFiles {
  const folder = join(home, "resident");
  return {
    folder,
    socket: join(folder, "host.sock"),
    inside: join(folder, "inside.sock"),
    key: join(folder, "key"),
    lock: join(folder, "host.lock"),
    facts: join(folder, "host.json"),
  };
}

export interface ResidentFacts {
  pid: number;
  version: string;
  /** ISO 8601. */
  startedAt: string;
}

/** The resident host that runs for a home. */
export function runningResident(home: string): ResidentFacts | undefined {
  const { lock, facts } = residentFiles(home);
  const owner = liveOwner(lock);
  const known = owner && attempt(() => parseJson(readFileSync(facts, "utf8")));
  if (countOf(fieldOf(known, "pid")) !== owner?.pid || owner === undefined) return undefined;
  const version = filledString(fieldOf(known, "version")) ?? "";
  return { pid: owner.pid, version, startedAt: filledString(fieldOf(known, "startedAt")) ?? "" };
}

/** Whether a process is a resident host of the home, or is about to be. */
export function isResidentHeld(home: string): boolean {
  return liveOwner(residentFiles(home).lock) !== undefined;
}

/** Why no resident host can run for this home: a sentence; undefined where one can. */
export function residentProblem(home: string): string | undefined {
  if (process.platform === "win32") return "A resident host needs Unix sockets, which Windows has not here.";
  // The longest of its names.
  const { inside } = residentFiles(home);
  if (Buffer.byteLength(inside) <= LONGEST_SOCKET) return undefined;
  return `The path of its socket, ${inside}, is longer than the ${LONGEST_SOCKET} bytes that the system allows; use a shorter PAGURUS_HOME.`;
}

/** Makes the folder. Throws a system error, and `store_write_failed` where it is not this user's. */
export function makeResidentFolder(home: string): void {
  const { folder } = residentFiles(home);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stat = lstatSync(folder);
  if (!stat.isDirectory() || stat.uid !== process.getuid?.())
    throw new PagurusError("store_write_failed", `${folder} is not a folder of this user; remove it.`);
  if ((stat.mode & 0o777) !== 0o700) chmodSync(folder, 0o700);
}

/** Holds the home for one resident host. */
export class ResidentPlace {
  readonly #files: ResidentFiles;
  readonly #lock: SessionLock;

  private constructor(files: ResidentFiles, lock: SessionLock) {
    this.#files = files;
    this.#lock = lock;
  }

  /** Throws `session_locked` where one runs already, and the errors of making the folder. */
  static take(home: string): ResidentPlace {
    makeResidentFolder(home);
    const files = residentFiles(home);
    const place = new ResidentPlace(files, SessionLock.hold(files.lock, "resident"));
    // A killed process leaves its socket.
    place.close();
    return place;
  }

  announce(facts: ResidentFacts, key: string): void {
    writeFileAtomic(this.#files.facts, JSON.stringify(facts));
    // The last one: a client that finds it finds the socket too.
    writeFileAtomic(this.#files.key, key);
  }

  /** No further client finds the host. */
  close(): void {
    const { socket, inside, key, facts } = this.#files;
    for (const file of [key, socket, inside, facts]) rmSync(file, { force: true });
  }

  release(): void {
    this.#lock.release();
  }
}
