/**
 * Finds hosts that died before their claims run out. The connection by which a host listens holds a mark, a lock of the database that ends with
 * the process. A claim ends early only where its host has marks (its name says so), the mark is gone, and the claim was not renewed for half of
 * the lease: a host whose connection was cut renews, and one that stalls keeps its mark. A mistake costs no word, for the epochs refuse the
 * former writer.
 */
import { randomBytes } from "node:crypto";
import type { Database } from "../connections.ts";
import { PROCESS_ID, PROCESS_ID_LENGTH } from "../process-id.ts";

/** Distinguishes marks from other locks of the database. */
const MARKS = 1_885_431_669;
/** First letter of the name of a host with marks, and of one that a pooler keeps from them. */
const MARKED = "m";
const UNMARKED = "u";
const PROCESS = `substr(host, 2, ${PROCESS_ID_LENGTH})`;
/** As the list of locks shows it, which knows no sign. */
const MARK = `(hashtext(${PROCESS})::int8 & 4294967295)`;
const MILLISECONDS = "interval '1 millisecond'";

const TAKE = `SELECT pg_try_advisory_lock_shared(${MARKS}, hashtext($1))`;

/** After a restart of the database the marks come back within a moment. `$2`: the lease, ms. */
const LOOK = `SELECT DISTINCT ${PROCESS} AS process FROM {s}.work
 WHERE tenant = current_user AND state = 'running' AND host LIKE '${MARKED}%' AND ${PROCESS} <> $1
   AND claim_until BETWEEN clock_timestamp() AND clock_timestamp() + $2 / 2 * ${MILLISECONDS}
   AND pg_postmaster_start_time() < clock_timestamp() - $2 * ${MILLISECONDS}
   AND NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid::int8 = ${MARKS} AND objsubid = 2 AND granted
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND objid::int8 = ${MARK})`;

/** Rows of work are locked in the order of ids, as by hosts that take over. A writer that lives all the same renews what no other took. */
const END = `WITH old AS (SELECT id FROM {s}.work WHERE tenant = current_user AND state = 'running' AND ${PROCESS} = ANY($1)
     AND claim_until BETWEEN clock_timestamp() AND clock_timestamp() + $2 / 2 * ${MILLISECONDS} ORDER BY id FOR UPDATE),
 claims AS (UPDATE {s}.work AS w SET claim_until = clock_timestamp() FROM old
   WHERE w.tenant = current_user AND w.id = old.id RETURNING w.id),
 leases AS (UPDATE {s}.sessions SET lease_until = clock_timestamp()
   WHERE tenant = current_user AND holder_facts->>'process' = ANY($1)
     AND lease_until BETWEEN clock_timestamp() AND clock_timestamp() + $2 / 2 * ${MILLISECONDS})
 SELECT count(*)::float8 AS claims FROM claims`;

/** A name for a new host of this process. Throws `store_read_failed`. */
export async function hostName(database: Database): Promise<string> {
  const isMarked = await database.isDirect();
  return `${isMarked ? MARKED : UNMARKED}${PROCESS_ID}${randomBytes(3).toString("hex")}`;
}

export function isMarked(host: string): boolean {
  return host.startsWith(MARKED);
}

/** This process lives for as long as the connection does. */
export async function takeMark(connection: {
  query(text: string, values: string[]): Promise<unknown>;
}): Promise<void> {
  await connection.query(TAKE, [PROCESS_ID]);
}

/** Ends claims and leases of hosts that died; true where a claim ended. Throws `store_read_failed`, `store_write_failed`. */
export async function endDeadHosts(database: Database): Promise<boolean> {
  const { leaseMs } = database.target;
  const rows = await database.rows<{ process: string }>("store_read_failed", LOOK, [PROCESS_ID, leaseMs]);
  if (rows.length === 0) return false;
  const values = [rows.map(({ process }) => process), leaseMs];
  const [ended] = await database.rows<{ claims: number }>("store_write_failed", END, values);
  return (ended?.claims ?? 0) > 0;
}
