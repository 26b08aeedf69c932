/** Takes the lease of a session: of one that is looked for by its key in the same statement, or of a known one. */
import type { Database } from "./connections.ts";
import { COLUMNS, LIVE, sessionOf, type SessionColumns } from "./session-rows.ts";
import {
  nameOf,
  type Acquired,
  type AcquireRequest,
  type Ahead,
  type AheadRequest,
  type Holder,
} from "./shared-rows.ts";

/** Locks the row, and gives the lease to the holder where `condition` allows it. `floor`: the new epoch is greater. */
const winning = (floor: string, condition: string): string => `WITH old AS (
   SELECT * FROM {s}.sessions WHERE tenant = current_user AND agent = $1 AND session_id = $2 FOR UPDATE),
 won AS (
   UPDATE {s}.sessions AS s SET holder = $3, holder_facts = $4, lease_until = clock_timestamp() + $5 * interval '1 millisecond',
     changed = pg_current_xact_id()::text::bigint,
     epoch = CASE WHEN old.holder_facts->>'nonce' = $4::jsonb->>'nonce' THEN old.epoch ELSE greatest(old.epoch, ${floor}) + 1 END,
     mirror = $4::jsonb->>'mirror',
     moved = CASE WHEN old.mirror = $4::jsonb->>'mirror' THEN old.moved ELSE greatest(old.epoch, ${floor}) + 1 END
   FROM old WHERE s.tenant = old.tenant AND s.agent = old.agent AND s.session_id = old.session_id AND ${condition}
   RETURNING s.session_id, s.epoch)`;

const FREE = "old.lease_until IS NULL OR old.lease_until <= clock_timestamp()";

/** A writer of the same mirror has ended, for its lock file was free; the same nonce is an earlier try. */
const ACQUIRE = `${winning("$6", `(${FREE} OR old.holder_facts->>'mirror' = $4::jsonb->>'mirror')`)}
 SELECT ${COLUMNS}, s.holder_facts AS holder, won.epoch AS won
 FROM old AS s LEFT JOIN won ON true`;

const HOLD = `{s}.holds AS h WHERE h.tenant = current_user AND h.agent = $1 AND h.key = $6 AND h.lease_until > clock_timestamp()`;

/**
 * The lock file of this host is not taken yet, so only a free lease is. A program that claims the key in this moment changes the session's row:
 * where that cannot be seen in this statement's snapshot, its claim cannot either, and the lease is not taken.
 */
const AHEAD = `${winning(
  "0",
  `old.key = $6 AND old.is_current AND (${FREE} OR old.holder_facts->>'nonce' = $4::jsonb->>'nonce')
     AND pg_visible_in_snapshot(old.changed::text::xid8, pg_current_snapshot())
     AND NOT EXISTS (SELECT FROM ${HOLD} AND h.holder_facts->>'mirror' <> $4::jsonb->>'mirror')`,
)}
 SELECT ${COLUMNS}, ${LIVE}, s.holder_facts AS former, won.epoch AS won,
   (SELECT json_build_object('folder', h.folder, 'holder', h.holder_facts) FROM ${HOLD}) AS hold
 FROM (SELECT) AS one LEFT JOIN (SELECT * FROM old WHERE key = $6 UNION ALL
   SELECT * FROM {s}.sessions WHERE tenant = current_user AND agent = $1 AND key = $6
     AND session_id IS DISTINCT FROM $2) AS s ON true
 LEFT JOIN won ON won.session_id = s.session_id`;

interface Won {
  won: string | null;
}

/** Throws `store_write_failed`. */
export async function acquire(
  database: Database,
  { agent, sessionId, floor, holder }: AcquireRequest,
): Promise<Acquired> {
  const values = [agent, sessionId, nameOf(holder), holder, database.target.leaseMs, floor];
  const [row] = await database.rows<SessionColumns & Won>("store_write_failed", ACQUIRE, values);
  if (!row) return { state: "absent" };
  if (row.won === null) return { state: "held", holder: row.holder ?? holder };
  return won(row, row.won, row.holder, holder);
}

/** Throws `store_write_failed`. */
export async function acquireAhead(
  database: Database,
  { agent, key, sessionId, holder }: AheadRequest,
): Promise<Ahead> {
  type Row = SessionColumns & Won & { former: Holder | null; hold: Ahead["hold"] };
  const values = [agent, sessionId, nameOf(holder), holder, database.target.leaseMs, key];
  const all = await database.rows<Row>("store_write_failed", AHEAD, values);
  const rows = all.filter((row) => Boolean(row.session_id));
  const taken = rows.find((row) => row.won !== null);
  return {
    sessions: rows.map(sessionOf),
    hold: all[0]?.hold ?? null,
    won: taken ? won(taken, taken.won ?? "", taken.former, holder) : null,
  };
}

function won(
  row: SessionColumns,
  epoch: string,
  former: Holder | null,
  { nonce }: Holder,
): Acquired & { state: "won" } {
  const takenFrom = former?.nonce === nonce ? null : former;
  return { state: "won", epoch: Number(epoch), takenFrom, session: sessionOf(row) };
}
