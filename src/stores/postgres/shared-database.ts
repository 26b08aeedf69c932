/** The statements on shared sessions, by name; runs in the thread that owns the connections. */
import { PagurusError } from "../../contract/errors.ts";
import { AppendLane } from "./append-lane.ts";
import { Database } from "./connections.ts";
import { Holds, type HoldRequest } from "./holds.ts";
import { mirror } from "./mirror.ts";
import { publish, remove, type PublishedBy } from "./publish.ts";
import type { Target } from "./settings.ts";
import {
  nameOf,
  type Acquired,
  type AcquireRequest,
  type AppendRequest,
  type Holder,
  type Look,
  type Mirrored,
  type MirrorRequest,
  type PublishRequest,
  type SharedSession,
} from "./shared-rows.ts";

const COLUMNS = `s.session_id, s.key, s.generation,
  coalesce(s.precedence, s.generation) AS precedence, s.bytes, s.revision`;

/** The holder of a lease that has not run out. */
const LIVE = "CASE WHEN s.lease_until > clock_timestamp() THEN s.holder_facts END AS holder";

/**
 * A look asks for what changed in transactions that had not ended at the last one. A number that grows would miss a transaction that got its
 * number before the look and ended after it.
 */
const LOOK = `SELECT h.horizon, ${COLUMNS}, ${LIVE} FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon) AS h
 LEFT JOIN {s}.sessions AS s ON s.tenant = current_user AND s.agent = $1
   AND ($2::bigint IS NULL OR s.changed >= $2) AND ($3::text IS NULL OR s.key = $3)`;

const REMOVED = `SELECT session_id FROM {s}.removed
 WHERE tenant = current_user AND agent = $1 AND ($2::bigint IS NULL OR changed >= $2)`;

/** A writer of the same mirror has ended, for its lock file was free; the same nonce is an earlier try. */
const ACQUIRE = `WITH old AS (
   SELECT * FROM {s}.sessions WHERE tenant = current_user AND agent = $1 AND session_id = $2 FOR UPDATE),
 won AS (
   UPDATE {s}.sessions AS s SET holder = $6, holder_facts = $4, lease_until = clock_timestamp() + $5 * interval '1 millisecond',
     changed = pg_current_xact_id()::text::bigint,
     epoch = CASE WHEN old.holder_facts->>'nonce' = $4::jsonb->>'nonce' THEN old.epoch ELSE greatest(old.epoch, $3) + 1 END
   FROM old WHERE s.tenant = old.tenant AND s.agent = old.agent AND s.session_id = old.session_id
     AND (old.lease_until IS NULL OR old.lease_until <= clock_timestamp()
       OR old.holder_facts->>'mirror' = $4::jsonb->>'mirror')
   RETURNING s.epoch)
 SELECT ${COLUMNS}, s.holder_facts AS holder, won.epoch AS won
 FROM old AS s LEFT JOIN won ON true`;

interface SessionColumns {
  session_id: string;
  key: string;
  generation: string;
  precedence: string;
  bytes: string;
  revision: string;
  holder: Holder | null;
}

export class SharedDatabase {
  readonly #database: Database;
  readonly #holds: Holds;
  readonly #lanes = new Map<string, AppendLane>();
  /** Leases of sessions that are not in the database yet. */
  readonly #coming = new Map<string, PublishedBy>();
  readonly #lost: (lane: string, error: unknown) => void;

  /** `lost` gets the lane's name when a writer cannot write any more. */
  constructor(target: Target, lost: (lane: string, error: unknown) => void) {
    this.#database = new Database(target);
    this.#holds = new Holds(this.#database);
    this.#lost = lost;
  }

  /** Sessions that changed since a look, or all of a key. */
  async look(request: { agent: string; since?: string; key?: string }): Promise<Look> {
    const { agent, since = null, key = null } = request;
    type Row = Partial<SessionColumns> & { horizon: string };
    const rows = await this.#read<Row>(LOOK, [agent, since, key]);
    const removed = key === null ? await this.#read<{ session_id: string }>(REMOVED, [agent, since]) : [];
    return {
      sessions: rows.filter((row): row is Row & SessionColumns => Boolean(row.session_id)).map(sessionOf),
      removed: removed.map(({ session_id }) => session_id),
      horizon: rows[0]?.horizon ?? "0",
    };
  }

  /** The live writer of a session. */
  async holder({ agent, sessionId }: { agent: string; sessionId: string }): Promise<Holder | null> {
    const [row] = await this.#read<{ holder: Holder | null }>(
      `SELECT ${LIVE} FROM {s}.sessions AS s WHERE tenant = current_user AND agent = $1 AND session_id = $2`,
      [agent, sessionId],
    );
    return row?.holder ?? null;
  }

  async acquire(request: AcquireRequest): Promise<Acquired> {
    const { agent, sessionId, floor, holder } = request;
    const values = [agent, sessionId, floor, holder, this.#database.target.leaseMs, nameOf(holder)];
    type Row = SessionColumns & { won: string | null };
    const [row] = await this.#database.rows<Row>("store_write_failed", ACQUIRE, values);
    if (!row) return { state: "absent" };
    if (row.won === null) return { state: "held", holder: row.holder ?? holder };
    const epoch = Number(row.won);
    this.#open(holder.nonce, { agent, sessionId, epoch });
    const former = row.holder?.nonce === holder.nonce ? null : row.holder;
    return { state: "won", epoch, takenFrom: former, session: sessionOf(row) };
  }

  /** Notes a lease of a session that is published next. */
  async expect({ epoch, holder }: { epoch: number; holder: Holder }): Promise<void> {
    this.#coming.set(holder.nonce, { epoch, holder });
  }

  async append({ lane, at, bytes }: AppendRequest): Promise<void> {
    await this.#lane(lane).append(at, bytes);
  }

  /** After a failure that the writer saw: what is still on its way must not be followed by anything. */
  async abandon({ lane }: { lane: string }): Promise<void> {
    const text = "An entry was not stored in time; open the session again.";
    this.#lanes.get(lane)?.abandon(new PagurusError("store_write_failed", text));
  }

  async release({ lane }: { lane: string }): Promise<void> {
    this.#coming.delete(lane);
    const open = this.#lanes.get(lane);
    this.#lanes.delete(lane);
    await open?.close();
  }

  async publish(request: PublishRequest): Promise<{ bytes: number; revision: number }> {
    const { agent, sessionId, replaces, lane: name = "" } = request;
    const coming = this.#coming.get(name);
    const lane = this.#lanes.get(name);
    const held = lane && { epoch: lane.session.epoch, holder: null };
    const made = await publish(this.#database, request, replaces ? (held ?? coming) : coming);
    if (coming && !lane) this.#open(name, { agent, sessionId, epoch: coming.epoch });
    this.#coming.delete(name);
    return made;
  }

  /** Removes the sessions of these leases. */
  async remove({ agent, lanes }: { agent: string; lanes: readonly string[] }): Promise<void> {
    const held = lanes.map((lane) => this.#lane(lane).session);
    await remove(this.#database, agent, held);
  }

  async mirror(request: MirrorRequest): Promise<Mirrored | undefined> {
    return mirror(this.#database, request);
  }

  async hold(request: HoldRequest): Promise<boolean> {
    return this.#holds.take(request);
  }

  async holderOf({ agent, key }: { agent: string; key: string }): ReturnType<Holds["holder"]> {
    return this.#holds.holder(agent, key);
  }

  async letGo({ nonce }: { nonce: string }): Promise<void> {
    await this.#holds.release(nonce);
  }

  /** Gives every lease back and closes the connections. */
  async end(): Promise<void> {
    await Promise.allSettled([...this.#lanes.values()].map(async (lane) => lane.close()));
    await this.#holds.end();
    await this.#database.end();
  }

  #read<R extends object>(text: string, values: readonly unknown[]): Promise<R[]> {
    return this.#database.rows<R>("store_read_failed", text, values);
  }

  #open(name: string, session: { agent: string; sessionId: string; epoch: number }): void {
    this.#lanes.set(name, new AppendLane(this.#database, session, (error) => this.#lost(name, error)));
  }

  #lane(name: string): AppendLane {
    const lane = this.#lanes.get(name);
    if (lane) return lane;
    throw new PagurusError("lock_lost", "The session is not open for writing any more; open it again.");
  }
}

function sessionOf(row: SessionColumns): SharedSession {
  return {
    sessionId: row.session_id,
    key: row.key,
    generation: Number(row.generation),
    precedence: Number(row.precedence),
    bytes: Number(row.bytes),
    revision: Number(row.revision),
    holder: row.holder,
  };
}
