/** The right of one writer among all hosts: the lock of this host, and the lease in the database. */
import type { OpenNotice } from "@pagurus/contract/session/writer";
import type { SessionLock } from "@pagurus/host/stores/files/lock";
import type { SessionLease } from "@pagurus/host/stores/files/session-lease";
import type { Asked, Bridge } from "./bridge.ts";

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
  #releasing: Asked<"release"> | undefined;
  /** When the database last confirmed the lease to this thread. */
  #heardAt = performance.now();

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
    this.#end = offset + bytes.length;
    // After a stall another host may have the session: that is found out before anything follows.
    const isSilent = performance.now() - this.#heardAt > bridge.target.leaseMs;
    const isWaitedFor = durably || isSilent;
    const request = { lane, at: offset, bytes, isWaitedFor };
    if (!isWaitedFor) return bridge.post("append", request);
    try {
      bridge.call("append", request);
      this.#heardAt = performance.now();
    } catch (error) {
      // It may arrive all the same, so nothing may follow it.
      this.#failure = error;
      bridge.post("abandon", { lane });
      throw error;
    }
  }

  beginRelease(): void {
    const { bridge, lane } = this.#parts;
    this.#releasing ??= bridge.ask("release", { lane });
  }

  release(): void {
    const { bridge, lock, lane, onReleased } = this.#parts;
    try {
      this.beginRelease();
      if (this.#releasing) bridge.answerOf(this.#releasing);
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
