/** Keys that programs of this host follow, claimed among all hosts; renewed until they are released. */
import type { Database } from "./connections.ts";
import { nameOf, type Holder } from "./shared-rows.ts";

/**
 * A hold that ran out is free, and one of the same mirror is of a program that ended: its lock file was free. The session's row is changed for
 * a writer that takes its lease in this moment: one of the two sees the other.
 */
const HOLD = `WITH touched AS (UPDATE {s}.sessions SET changed = pg_current_xact_id()::text::bigint
   WHERE tenant = current_user AND agent = $1 AND key = $2 AND is_current)
 INSERT INTO {s}.holds AS h (agent, key, folder, holder, holder_facts, lease_until)
 VALUES ($1, $2, $3, $4, $5, clock_timestamp() + $6 * interval '1 millisecond')
 ON CONFLICT (tenant, agent, key) DO UPDATE SET folder = excluded.folder, holder = excluded.holder,
   holder_facts = excluded.holder_facts, lease_until = excluded.lease_until
 WHERE h.lease_until <= clock_timestamp() OR h.holder_facts->>'mirror' = excluded.holder_facts->>'mirror'
 RETURNING key`;

const RENEW_HOLD = `UPDATE {s}.holds SET lease_until = clock_timestamp() + $2 * interval '1 millisecond'
 WHERE tenant = current_user AND holder_facts->>'nonce' = ANY($1)`;

const HOLDER = `SELECT folder, holder_facts AS holder FROM {s}.holds
 WHERE tenant = current_user AND agent = $1 AND key = $2 AND lease_until > clock_timestamp()`;

export interface HoldRequest {
  agent: string;
  key: string;
  folder: string | null;
  holder: Holder;
}

export class Holds {
  readonly #database: Database;
  /** Nonces of the holds. */
  readonly #held = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /** False: a program of another host has the key. Throws `store_write_failed`. */
  async take({ agent, key, folder, holder }: HoldRequest): Promise<boolean> {
    const { leaseMs } = this.#database.target;
    const values = [agent, key, folder, nameOf(holder), holder, leaseMs];
    const rows = await this.#database.rows("store_write_failed", HOLD, values);
    if (rows.length === 0) return false;
    this.#held.add(holder.nonce);
    this.#timer ??= setInterval(() => void this.#renew(), leaseMs / 3);
    return true;
  }

  /** The live program that holds a key. Throws `store_read_failed`. */
  async holder(agent: string, key: string): Promise<{ holder: Holder; folder: string | null } | null> {
    type Row = { holder: Holder; folder: string | null };
    const [row] = await this.#database.rows<Row>("store_read_failed", HOLDER, [agent, key]);
    return row ?? null;
  }

  /** Throws `store_write_failed`; then it runs out. */
  async release(nonce: string): Promise<void> {
    this.#held.delete(nonce);
    const text = "DELETE FROM {s}.holds WHERE tenant = current_user AND holder_facts->>'nonce' = $1";
    await this.#database.rows("store_write_failed", text, [nonce]);
  }

  /** As `release`, where it was taken. */
  async giveUp(nonce: string): Promise<void> {
    if (this.#held.has(nonce)) await this.release(nonce);
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.allSettled([...this.#held].map(async (nonce) => this.release(nonce)));
  }

  async #renew(): Promise<void> {
    if (this.#held.size === 0) return;
    try {
      await this.#database.once(RENEW_HOLD, [[...this.#held], this.#database.target.leaseMs]);
    } catch {
      // The next renewal tries again, before the holds run out.
      return;
    }
  }
}
