/** One writer's way to the database: the bytes of its transcript, and its lease, which is renewed until it is released. */
import { ByteLane, type LaneSession } from "./byte-lane.ts";
import type { Database } from "./connections.ts";

const appending = (lease: string): string => `WITH held AS (
   UPDATE {s}.sessions SET bytes = bytes + length($5::bytea), changed = pg_current_xact_id()::text::bigint, ${lease}
   WHERE tenant = current_user AND agent = $1 AND session_id = $2 AND epoch = $3 AND bytes = $4
     AND lease_until > clock_timestamp()
   RETURNING session_id)
 INSERT INTO {s}.chunks (agent, session_id, at, epoch, bytes) SELECT $1, session_id, $4, $3, $5 FROM held
 RETURNING at`;

const APPEND = appending("lease_until = clock_timestamp() + $6 * interval '1 millisecond'");
const APPEND_AND_RELEASE = appending("lease_until = NULL, holder = NULL, holder_facts = NULL");

const STATE = `SELECT epoch::int8 = $3 AS mine, bytes = $4 AS next, EXISTS (SELECT FROM {s}.chunks AS c
     WHERE c.tenant = s.tenant AND c.agent = s.agent AND c.session_id = s.session_id AND c.at = $4
       AND c.epoch = $3 AND c.bytes = $5) AS stored
 FROM {s}.sessions AS s WHERE tenant = current_user AND agent = $1 AND session_id = $2`;

/** A lease that ran out, and that no other host took, is still the writer's; one that was released is not. */
const RENEW = `UPDATE {s}.sessions SET lease_until = clock_timestamp() + $4 * interval '1 millisecond'
 WHERE tenant = current_user AND agent = $1 AND session_id = $2 AND epoch = $3 AND lease_until IS NOT NULL
 RETURNING session_id`;

/** Not waited for on the database's disk: a release that its crash loses is a lease that runs out. */
const RELEASE = `UPDATE {s}.sessions SET lease_until = NULL, holder = NULL, holder_facts = NULL
 WHERE tenant = current_user AND agent = $1 AND session_id = $2 AND epoch = $3
   AND set_config('synchronous_commit', 'off', true) = 'off'`;

export class AppendLane {
  readonly session: LaneSession;
  readonly #database: Database;
  readonly #bytes: ByteLane;
  readonly #timer: NodeJS.Timeout;
  #isClosing = false;
  #closed = false;

  /** `lost` is called once, when nothing more can be written under this lease. */
  constructor(database: Database, session: LaneSession, lost: (error: unknown) => void) {
    this.#database = database;
    this.session = session;
    const { leaseMs } = database.target;
    this.#bytes = new ByteLane(database, session, {
      stream: { append: APPEND, state: STATE, more: [leaseMs], revive: () => this.#renew() },
      lost: (error) => {
        clearInterval(this.#timer);
        lost(error);
      },
    });
    // Three tries before it runs out.
    this.#timer = setInterval(() => void this.#renewInTime(), leaseMs / 3);
  }

  /** As `ByteLane.append`. */
  append(at: number, bytes: Uint8Array, isWaitedFor: boolean): Promise<void> {
    return this.#bytes.append(at, bytes, isWaitedFor);
  }

  /** Nothing more is sent; what is on its way may still arrive. */
  abandon(reason: unknown): void {
    this.#bytes.fail(reason);
  }

  /** Sends what waits and gives the lease back. Rejects with what stopped the writer. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const isReleased = await this.#bytes.finished({ text: APPEND_AND_RELEASE, more: [] });
    this.#closed = true;
    clearInterval(this.#timer);
    if (isReleased && this.#bytes.failure === undefined) return;
    const { agent, sessionId, epoch } = this.session;
    // Harmless after a loss: another host's lease has another epoch.
    await this.#database.rows("store_write_failed", RELEASE, [agent, sessionId, epoch]);
    if (this.#bytes.failure !== undefined) throw this.#bytes.failure;
  }

  async #renew(): Promise<boolean> {
    const { agent, sessionId, epoch } = this.session;
    const values = [agent, sessionId, epoch, this.#database.target.leaseMs];
    return (await this.#database.once(RENEW, values)).length > 0;
  }

  async #renewInTime(): Promise<void> {
    try {
      if (this.#closed || this.#bytes.failure !== undefined || (await this.#renew())) return;
    } catch {
      // The next renewal, or the next append, finds out.
      return;
    }
    // While it closes, the renewal may have come after the release; an append finds out that the lease is lost.
    if (!this.#isClosing) this.#bytes.fail(this.#bytes.refused());
  }
}
