/** The right of one writer among all hosts: the lock of this host, and the lease in the database. */
import type { OpenNotice } from "../../contract/session/writer.ts";
import type { SessionLock } from "../../session/lock.ts";
import type { SessionLease } from "../../session/session-lease.ts";
import type { Bridge } from "./bridge.ts";

export interface LeaseParts {
  bridge: Bridge;
  lock: SessionLock;
  /** The nonce of its holder. */
  lane: string;
  epoch: number;
  takenFrom: string | undefined;
  notices: readonly OpenNotice[];
  /** Called after the lease was released, with the bytes that the database has; undefined where that is not known. */
  onReleased: (bytes: number | undefined) => void;
}

export class SharedLease implements SessionLease {
  readonly epoch: number;
  readonly takenFrom: string | undefined;
  readonly notices: readonly OpenNotice[];
  readonly #parts: LeaseParts;
  readonly #lane: string;
  #failure: unknown;
  #end: number | undefined;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
    this.epoch = parts.epoch;
    this.takenFrom = parts.takenFrom;
    this.notices = parts.notices;
    this.#lane = parts.lane;
  }

  assertHeld(): void {
    this.#failure ??= this.#parts.bridge.failureOf(this.#lane);
    if (this.#failure !== undefined) throw this.#failure;
    this.#parts.lock.assertHeld();
  }

  store(offset: number, bytes: Uint8Array, durably: boolean): void {
    const { bridge, lane } = this.#parts;
    const request = { lane, at: offset, bytes };
    this.#end = offset + bytes.length;
    if (!durably) return bridge.post("append", request);
    try {
      bridge.call("append", request);
    } catch (error) {
      // It may arrive all the same, so nothing may follow it.
      this.#failure = error;
      bridge.post("abandon", { lane });
      throw error;
    }
  }

  release(): void {
    const { bridge, lock, lane, onReleased } = this.#parts;
    try {
      bridge.call("release", { lane });
      onReleased(this.#failure === undefined ? this.#end : undefined);
    } catch {
      // The lease runs out by itself; what the database does not have is set aside at the next opening.
      onReleased(undefined);
    } finally {
      bridge.forget(lane);
      lock.release();
    }
  }
}
