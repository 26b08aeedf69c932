/**
 * One writer's way to the database: its bytes in order, each statement with the lease's epoch. What waits while a statement runs is sent as
 * one chunk with the next.
 */
import { setTimeout } from "node:timers/promises";
import { PagurusError } from "../../contract/errors.ts";
import { isCut, type Database } from "./connections.ts";

/** How long an append is tried again after a cut connection, ms. */
const RETRY_MS = 8_000;
const CHUNK_BYTES = 1024 * 1024;

/** The database itself refuses what a host that lost its lease sends. */
const APPEND = `WITH held AS (
   UPDATE {s}.sessions SET bytes = bytes + length($5::bytea), changed = pg_current_xact_id()::text::bigint,
     lease_until = clock_timestamp() + $6 * interval '1 millisecond'
   WHERE tenant = current_user AND agent = $1 AND session_id = $2 AND epoch = $3 AND bytes = $4
     AND lease_until > clock_timestamp()
   RETURNING session_id)
 INSERT INTO {s}.chunks (agent, session_id, at, epoch, bytes) SELECT $1, session_id, $4, $3, $5 FROM held
 RETURNING at`;

const STATE = `SELECT epoch::int8 = $3 AS mine, bytes = $4 AS next, EXISTS (SELECT FROM {s}.chunks AS c
     WHERE c.tenant = s.tenant AND c.agent = s.agent AND c.session_id = s.session_id AND c.at = $4
       AND c.epoch = $3 AND c.bytes = $5) AS stored
 FROM {s}.sessions AS s WHERE tenant = current_user AND agent = $1 AND session_id = $2`;

/** A lease that ran out, and that no other host took, is still the writer's. */
const RENEW = `UPDATE {s}.sessions SET lease_until = clock_timestamp() + $4 * interval '1 millisecond'
 WHERE tenant = current_user AND agent = $1 AND session_id = $2 AND epoch = $3 RETURNING session_id`;

const RELEASE = `UPDATE {s}.sessions SET lease_until = NULL, holder = NULL, holder_facts = NULL
 WHERE tenant = current_user AND agent = $1 AND session_id = $2 AND epoch = $3`;

interface Waiting {
  at: number;
  bytes: Uint8Array;
  resolve: () => void;
  reject: (error: unknown) => void;
}

export interface LaneSession {
  agent: string;
  sessionId: string;
  epoch: number;
}

export class AppendLane {
  readonly session: LaneSession;
  readonly #database: Database;
  readonly #lost: (error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  #waiting: Waiting[] = [];
  #draining: Promise<void> | undefined;
  #failure: unknown;
  #closed = false;

  /** `lost` is called once, when nothing more can be written under this lease. */
  constructor(database: Database, session: LaneSession, lost: (error: unknown) => void) {
    this.#database = database;
    this.session = session;
    this.#lost = lost;
    // Three tries before it runs out.
    this.#timer = setInterval(() => void this.#renewInTime(), database.target.leaseMs / 3);
  }

  /** Resolves when the bytes, and all before them, are stored. Rejects with `lock_lost`, `store_write_failed`. */
  append(at: number, bytes: Uint8Array): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ at, bytes, resolve, reject });
    this.#draining ??= this.#drain();
    return promise;
  }

  /** Nothing more is sent; what is on its way may still arrive. */
  abandon(reason: unknown): void {
    this.#fail(reason);
  }

  /** Sends what waits and gives the lease back. Rejects with what stopped the writer. */
  async close(): Promise<void> {
    await this.#draining;
    this.#closed = true;
    clearInterval(this.#timer);
    const { agent, sessionId, epoch } = this.session;
    // Harmless after a loss: another host's lease has another epoch.
    await this.#database.rows("store_write_failed", RELEASE, [agent, sessionId, epoch]);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0 && this.#failure === undefined) {
      const batch = this.#take();
      try {
        await this.#send(batch[0]?.at ?? 0, Buffer.concat(batch.map(({ bytes }) => bytes)));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        this.#fail(error);
        for (const { reject } of batch) reject(error);
      }
    }
    this.#draining = undefined;
  }

  /** The oldest bytes that wait, as many as make one chunk, and at least one piece. */
  #take(): Waiting[] {
    let size = 0;
    const more = this.#waiting.findIndex(({ bytes }, at) => (size += bytes.length) > CHUNK_BYTES && at > 0);
    return this.#waiting.splice(0, more < 0 ? this.#waiting.length : more);
  }

  async #send(at: number, bytes: Buffer): Promise<void> {
    const { agent, sessionId, epoch } = this.session;
    const { leaseMs } = this.#database.target;
    const giveUpAt = performance.now() + RETRY_MS;
    for (let pause = 10; this.#failure === undefined; pause = Math.min(pause * 2, 400)) {
      try {
        const values = [agent, sessionId, epoch, at, bytes];
        const stored = await this.#database.once(APPEND, [...values, leaseMs]);
        // After a cut connection the first try may have been stored.
        if (stored.length > 0 || (await this.#isStored(values))) return;
        continue;
      } catch (error) {
        if (!isCut(error) || performance.now() > giveUpAt)
          throw this.#database.failure("store_write_failed", error);
      }
      await setTimeout(pause);
    }
    throw this.#failure;
  }

  /** False: the lease had run out, was the writer's still, and is renewed now. Throws `lock_lost`. */
  async #isStored(values: unknown[]): Promise<boolean> {
    type State = { mine: boolean; next: boolean; stored: boolean };
    const [state] = await this.#database.once<State>(STATE, values);
    if (state?.stored) return true;
    if (state?.mine && state.next && (await this.#renew())) return false;
    throw this.#refused();
  }

  async #renew(): Promise<boolean> {
    const { agent, sessionId, epoch } = this.session;
    const values = [agent, sessionId, epoch, this.#database.target.leaseMs];
    return (await this.#database.once(RENEW, values)).length > 0;
  }

  async #renewInTime(): Promise<void> {
    try {
      if (this.#closed || this.#failure !== undefined || (await this.#renew())) return;
    } catch {
      // The next renewal, or the next append, finds out.
      return;
    }
    this.#fail(this.#refused());
  }

  #refused(): PagurusError {
    const { sessionId } = this.session;
    return new PagurusError(
      "lock_lost",
      `Another host took over the session ${sessionId}, and the database ${this.#database.target.place} refused what this one wrote; nothing more is written, open the session again.`,
      { details: { sessionId, place: this.#database.target.place } },
    );
  }

  #fail(error: unknown): void {
    if (this.#failure !== undefined || this.#closed) return;
    this.#failure = error;
    clearInterval(this.#timer);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error);
    this.#lost(error);
  }
}
