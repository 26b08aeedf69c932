/**
 * Write lock of a session: `<sessionId>.lock` names the owner. A dead owner's lock is taken over at once; a live one is waited for, then
 * named in the error. The epoch rises with every take-over and goes into each entry.
 */
import {
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { processIsAlive, processStartTicks } from "@pagurus/core/platform/process-group";
import { systemCode, writeFailure } from "./failures.ts";
import { withMutex } from "./mutex.ts";
import { defined } from "@pagurus/core/data/defined";

export interface LockOwner {
  pid: number;
  /** Start time of the owner in ticks since boot, so that a reused pid does not match. */
  startTicks?: string;
  host: string;
  epoch: number;
  /** ISO 8601. */
  acquiredAt: string;
  /** Workspace of the held session; of holds alone. */
  folder?: string;
}

/** The process of an owner on another host cannot be checked: its lock is stale when it was not touched for this long, ms. */
const FOREIGN_STALE_MS = 5 * 60_000;
const TOUCH_MS = 30_000;
const RETRY_MS = 20;

export interface LockRequest {
  file: string;
  sessionKey: string;
  /** Greatest epoch seen in the index and in the transcript. */
  epoch: number;
  deadlineMs: number;
  now: () => number;
  folder?: string | undefined;
}

export class SessionLock {
  readonly epoch: number;
  /** The dead owner that it was taken from. */
  readonly takenFrom: string | undefined;
  readonly #file: string;
  readonly #content: string;
  readonly #timer: NodeJS.Timeout;

  private constructor(file: string, owner: LockOwner, content: string, takenFrom: string | undefined) {
    this.#file = file;
    this.#content = content;
    this.epoch = owner.epoch;
    this.takenFrom = takenFrom;
    this.#timer = setInterval(() => this.#touch(), TOUCH_MS);
    this.#timer.unref();
  }

  /** For what one process of a home is, such as its server. Throws `session_locked` at once where another one is, `store_write_failed`. */
  static hold(file: string, name: string): SessionLock {
    return SessionLock.acquire({ file, sessionKey: name, epoch: 0, deadlineMs: 0, now: Date.now });
  }

  /** Throws `session_locked` (another live owner after `deadlineMs`), `store_write_failed`. */
  static acquire(request: LockRequest): SessionLock {
    const giveUpAt = performance.now() + request.deadlineMs;
    for (;;) {
      const got = tryAcquire(request);
      if (got.won) return new SessionLock(request.file, got.owner, got.content, got.takenFrom);
      // Waiting blocks this thread, so an owner in this process could never release it.
      if (isThisProcess(got.owner) || performance.now() >= giveUpAt)
        throw lockedError(request.sessionKey, got.owner);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }

  /** Throws `lock_lost` when the lock file is not the one that was acquired. */
  assertHeld(): void {
    if (readPresentLock(this.#file) === this.#content) return;
    throw new PagurusError(
      "lock_lost",
      `The lock ${this.#file} was taken over or removed by another process; nothing more is written, open the session again.`,
      { details: { file: this.#file } },
    );
  }

  /** Never throws. */
  release(): void {
    clearInterval(this.#timer);
    try {
      if (readPresentLock(this.#file) === this.#content) unlinkSync(this.#file);
    } catch {
      // A lock that cannot be removed is stale as soon as this process ends, and is then taken over.
      return;
    }
  }

  #touch(): void {
    try {
      if (readPresentLock(this.#file) === this.#content) utimesSync(this.#file, new Date(), new Date());
    } catch {
      // The next append reports the folder's problem.
      return;
    }
  }
}

type Attempt =
  | { won: true; owner: LockOwner; content: string; takenFrom: string | undefined }
  | { won: false; owner: LockOwner | undefined };

function tryAcquire(request: LockRequest): Attempt {
  const { file } = request;
  const present = readLock(file);
  if (present === undefined) {
    const mine = newOwner(request, request.epoch);
    const isPlaced = place(file, mine, (temporary) => {
      // Fails if a lock exists already, unlike a rename.
      linkSync(temporary, file);
      unlinkSync(temporary);
    });
    if (isPlaced) return { won: true, ...mine, takenFrom: undefined };
    return { won: false, owner: parseOwner(readLock(file)) };
  }
  const owner = parseOwner(present);
  if (owner && isLive(owner, file)) return { won: false, owner };
  return withMutex(dirname(file), () => {
    // Every take-over happens in the mutex, so a lock that is still the stale one here stays so until the rename.
    if (readLock(file) !== present) return { won: false, owner: parseOwner(readLock(file)) };
    const mine = newOwner(request, Math.max(request.epoch, owner?.epoch ?? 0));
    place(file, mine, (temporary) => renameSync(temporary, file));
    return { won: true, ...mine, takenFrom: owner ? ownerWords(owner) : "an unreadable lock file" };
  });
}

function newOwner(request: LockRequest, epoch: number): { owner: LockOwner; content: string } {
  const ticks = processStartTicks(process.pid);
  const owner: LockOwner = {
    pid: process.pid,
    ...defined({ startTicks: ticks }),
    host: hostname(),
    epoch: epoch + 1,
    acquiredAt: new Date(request.now()).toISOString(),
    ...defined({ folder: request.folder }),
  };
  // The nonce distinguishes two locks of one process.
  const nonce = `${process.pid}-${process.hrtime.bigint()}`;
  return { owner, content: JSON.stringify({ ...owner, nonce }) };
}

/** Writes the lock to a temporary file and moves it into place, so that it is never seen empty. False: the place is taken. */
function place(file: string, mine: { content: string }, move: (temporary: string) => void): boolean {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, mine.content, { mode: 0o600 });
    move(temporary);
    return true;
  } catch (error) {
    rmSync(temporary, { force: true });
    if (systemCode(error) === "EEXIST") return false;
    throw writeFailure(error, file);
  }
}

/** For locks that are mostly absent: an exception for each takes ten times as long as a check. */
function readLock(file: string): string | undefined {
  return statSync(file, { throwIfNoEntry: false }) && readPresentLock(file);
}

/** For a lock of this process, which is read before each write of its transcript. */
function readPresentLock(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw writeFailure(error, file);
  }
}

function parseOwner(content: string | undefined): LockOwner | undefined {
  try {
    const value = JSON.parse(content ?? "null") as Partial<LockOwner> | null;
    if (typeof value?.pid !== "number" || typeof value.host !== "string") return undefined;
    return {
      ...value,
      pid: value.pid,
      host: value.host,
      epoch: value.epoch ?? 0,
      acquiredAt: value.acquiredAt ?? "",
    };
  } catch {
    // A power cut can leave an empty lock; its owner is dead.
    return undefined;
  }
}

function isLive(owner: LockOwner, file: string): boolean {
  if (owner.host !== hostname()) {
    const touched = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return Date.now() - touched < FOREIGN_STALE_MS;
  }
  if (!processIsAlive(owner.pid)) return false;
  const ticks = processStartTicks(owner.pid);
  return owner.startTicks === undefined || ticks === undefined || ticks === owner.startTicks;
}

function ownerWords(owner: LockOwner): string {
  return `process ${owner.pid} on ${owner.host}, since ${owner.acquiredAt}`;
}

export function isThisProcess(owner: LockOwner | undefined): boolean {
  return owner?.pid === process.pid && owner.host === hostname();
}

/** The owner of a lock; undefined without a lock, or without a live owner. Throws `store_write_failed`. */
export function liveLock(file: string): LockOwner | undefined {
  const owner = parseOwner(readLock(file));
  return owner && isLive(owner, file) ? owner : undefined;
}

/** The live owner of a lock, for readers; undefined without one, or when it cannot be determined. */
export function liveOwner(file: string): { pid: number; since: string } | undefined {
  try {
    const owner = parseOwner(readLock(file));
    return owner && isLive(owner, file) ? { pid: owner.pid, since: owner.acquiredAt } : undefined;
  } catch {
    // Reading works without a readable lock file; only a writer needs it.
    return undefined;
  }
}

/** Throws `session_locked` where a live process holds the lock. */
export function assertUnlocked(file: string, sessionKey: string): void {
  const owner = liveLock(file);
  if (owner) throw lockedError(sessionKey, owner);
}

/** Another program or turn follows the session. */
export function heldError(sessionKey: string, owner: LockOwner | undefined): PagurusError {
  if (isThisProcess(owner)) return lockedError(sessionKey, owner);
  const who = owner ? ownerWords(owner) : "another process";
  const named = owner ? { pid: owner.pid, host: owner.host, since: owner.acquiredAt } : {};
  return new PagurusError(
    "session_locked",
    `The session ${sessionKey} is in use by ${who}; end that one first, or take another session.`,
    { details: { sessionKey, ...named } },
  );
}

export function lockedError(sessionKey: string, owner: LockOwner | undefined): PagurusError {
  const message = isThisProcess(owner)
    ? `A turn of this session is already running in this process; wait for it or steer it.`
    : `The session ${sessionKey} is being written by ${owner ? ownerWords(owner) : "another process"}; wait for it, or end it, and try again.`;
  const named = owner ? { pid: owner.pid, host: owner.host, since: owner.acquiredAt } : {};
  const details = { sessionKey, ...named };
  return new PagurusError("session_locked", message, { details });
}
