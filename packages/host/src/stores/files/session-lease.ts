/** The right to write a session, and the log that owns its bytes where several hosts share the sessions. */
import type { OpenNotice } from "@pagurus/contract/session/writer";
import type { LockOwner, LockRequest, SessionLock } from "./lock.ts";

/** Held by a session's one writer. `SessionLock` is the one of a single host. */
export interface SessionLease {
  /** Fencing epoch; greater than that of every former writer. */
  readonly epoch: number;
  /** The former owner that it was taken from. */
  readonly takenFrom: string | undefined;
  /** What was repaired while it was acquired. */
  readonly notices?: readonly OpenNotice[];
  /** Throws `lock_lost`. */
  assertHeld(): void;
  /**
   * Stores bytes that were just written to the local file at `offset`, in the order of the calls. With `durably` it returns once they and all
   * before them are stored, else at once. Absent where the file is the only copy. Throws `lock_lost`, `store_write_failed`.
   */
  store?(offset: number, bytes: Uint8Array, durably: boolean): void;
  /** Nothing is stored any more, and `release` follows: what takes time may begin. Never throws. */
  beginRelease?(): void;
  /** Never throws. */
  release(): void;
}

export interface LeaseRequest extends LockRequest {
  sessionId: string;
}

/** A transcript that is about to be moved into place. */
export interface PublishedTranscript {
  sessionId: string;
  /** Temporary file with all its bytes. */
  file: string;
  /** Its key file, which may be missing. */
  keyFile: string;
  /** It replaces the present transcript of the session. */
  replaces: boolean;
}

/** Owns the bytes of sessions that several hosts share; the files of this host's folder mirror it. */
export interface SharedLog {
  /**
   * Makes the lock of this host a lease among all hosts, and brings the file up to date. Throws `session_locked`, `store_read_failed`,
   * `store_write_failed`.
   */
  lease(lock: SessionLock, request: LeaseRequest): SessionLease;
  /** Stores a whole transcript in one transaction. Throws `session_exists`, `lock_lost`, `store_write_failed`. */
  publish(transcript: PublishedTranscript): void;
  /** Removes sessions whose leases are held. Throws `lock_lost`, `store_write_failed`. */
  remove(sessionIds: readonly string[]): void;
  /** Of these sessions the ones that were deleted. Throws `store_read_failed`. */
  removed(sessionIds: readonly string[]): string[];
  /**
   * Claims a key among all hosts, for a program that has it on this one. A release never throws. Undefined: a program of another host has it.
   * Throws `store_write_failed`.
   */
  hold(key: string, folder: string | undefined): { release(): void } | undefined;
  /** The live program of another host that holds a key. Throws `store_read_failed`. */
  holderOf(key: string): LockOwner | undefined;
  /** The process on another host that writes to the session. Throws `store_read_failed`. */
  runningIn(sessionId: string): { pid: number; since: string } | undefined;
}
