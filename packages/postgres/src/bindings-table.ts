/** Which native threads are bound to a session, and on which host: a thread's files are on the host that began it. */
import type { BoundThread } from "@pagurus/contract/session/shared-records";
import type { Database } from "./connections.ts";

/** Only of the host that had the session last, and under its lease where it has one: the row names the epoch of that. */
const BIND = `INSERT INTO {s}.bindings (agent, session_id, runtime, native_id, mirror, host, epoch)
 SELECT agent, session_id, $3, $4, $5, $6, epoch FROM {s}.sessions
 WHERE tenant = current_user AND agent = $1 AND session_id = $2 AND mirror = $5 AND ($7::bigint IS NULL OR epoch = $7)
 ON CONFLICT (tenant, agent, session_id, runtime) DO UPDATE SET native_id = excluded.native_id,
   mirror = excluded.mirror, host = excluded.host, epoch = excluded.epoch`;

const UNBIND = `DELETE FROM {s}.bindings WHERE tenant = current_user AND agent = $1 AND session_id = $2 AND runtime = $3
 AND mirror = $4`;

/** One of an epoch before the host's present leases in a row is of before another host had the session. */
const BOUND = `SELECT b.native_id, b.host, b.mirror = $4 AND s.mirror = $4 AND b.epoch >= s.moved AS usable
 FROM {s}.bindings AS b JOIN {s}.sessions AS s USING (tenant, agent, session_id)
 WHERE tenant = current_user AND agent = $1 AND session_id = $2 AND runtime = $3`;

export interface BindingPlace {
  agent: string;
  sessionId: string;
  runtime: string;
  /** The host's folder of mirrors. */
  mirror: string;
}

export interface BindRequest extends BindingPlace {
  host: string;
  /** Of the lease that this process had last; null where it had none. */
  epoch: number | null;
  /** Null: no thread is bound. */
  nativeId: string | null;
}

type SessionPlace = Pick<BindingPlace, "agent" | "sessionId">;

export class BindingsTable {
  readonly #database: Database;
  /** What is on its way, by session: a later write never overtakes an earlier one. */
  readonly #writing = new Map<string, Promise<unknown>>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Throws `store_write_failed`; then the thread counts as not bound. */
  async bind(request: BindRequest): Promise<void> {
    const name = nameOf(request);
    const written = this.settle(request).then(async () => this.#write(request));
    const settled = written.catch(() => undefined);
    this.#writing.set(name, settled);
    try {
      await written;
    } finally {
      if (this.#writing.get(name) === settled) this.#writing.delete(name);
    }
  }

  /** Throws `store_read_failed`. */
  async bound(place: BindingPlace): Promise<BoundThread | null> {
    await this.settle(place);
    const { agent, sessionId, runtime, mirror } = place;
    type Row = { native_id: string; host: string; usable: boolean };
    const values = [agent, sessionId, runtime, mirror];
    const [row] = await this.#database.rows<Row>("store_read_failed", BOUND, values);
    return row ? { nativeId: row.native_id, host: row.host, isUsable: row.usable } : null;
  }

  /** Resolves when no binding of a session is on its way. */
  async settle(place: SessionPlace): Promise<void> {
    await this.#writing.get(nameOf(place));
  }

  async end(): Promise<void> {
    await Promise.all(this.#writing.values());
  }

  async #write({ agent, sessionId, runtime, mirror, host, epoch, nativeId }: BindRequest): Promise<void> {
    const place = [agent, sessionId, runtime];
    if (nativeId === null) await this.#database.rows("store_write_failed", UNBIND, [...place, mirror]);
    else {
      const values = [...place, nativeId, mirror, host, epoch];
      await this.#database.rows("store_write_failed", BIND, values);
    }
  }
}

function nameOf({ agent, sessionId }: SessionPlace): string {
  return JSON.stringify([agent, sessionId]);
}
