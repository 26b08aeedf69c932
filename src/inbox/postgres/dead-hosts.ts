/**
 * Finds hosts that died before their claims run out. The connection by which a host listens holds a mark, a lock of the database that ends with
 * the process. A claim ends early only where the mark of its host was seen, is gone at two looks, and the claim was not renewed for half of
 * the lease: a host whose connection was cut renews, and one that stalls keeps its mark. A mistake costs no word, for the epochs refuse the
 * former writer.
 */
import type { Database } from "../../stores/postgres/connections.ts";
import { PROCESS_ID, PROCESS_ID_LENGTH } from "../../stores/postgres/process-id.ts";

/** Distinguishes marks from other locks of the database. */
const MARKS = 1_885_431_669;
const PROCESS = `left(host, ${PROCESS_ID_LENGTH})`;
/** As the list of locks shows it, which knows no sign. */
const MARK = `(hashtext(${PROCESS})::int8 & 4294967295)`;

const TAKE = `SELECT pg_try_advisory_lock_shared(${MARKS}, hashtext($1))`;

const LOOK = `WITH marks AS MATERIALIZED (SELECT objid::int8 AS mark FROM pg_locks
   WHERE locktype = 'advisory' AND classid::int8 = ${MARKS} AND objsubid = 2 AND granted
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
 SELECT (SELECT coalesce(json_agg(mark::text), '[]') FROM marks) AS marks,
   (SELECT coalesce(json_agg(missing), '[]') FROM (
     SELECT DISTINCT ${PROCESS} AS process, ${MARK}::text AS mark FROM {s}.work
     WHERE tenant = current_user AND state = 'running' AND host IS NOT NULL AND ${PROCESS} <> $1
       AND ${MARK} NOT IN (SELECT mark FROM marks)) AS missing) AS missing`;

/** Rows of work are locked in the order of ids, as by hosts that take over. A writer that lives all the same renews what no other took. */
const END = `WITH old AS (SELECT id FROM {s}.work WHERE tenant = current_user AND state = 'running' AND ${PROCESS} = ANY($1)
     AND claim_until BETWEEN clock_timestamp() AND clock_timestamp() + $2 * interval '1 millisecond' ORDER BY id FOR UPDATE),
 claims AS (UPDATE {s}.work AS w SET claim_until = clock_timestamp() FROM old
   WHERE w.tenant = current_user AND w.id = old.id RETURNING w.id),
 leases AS (UPDATE {s}.sessions SET lease_until = clock_timestamp()
   WHERE tenant = current_user AND holder_facts->>'process' = ANY($1)
     AND lease_until BETWEEN clock_timestamp() AND clock_timestamp() + $2 * interval '1 millisecond' RETURNING session_id)
 SELECT (SELECT count(*) FROM claims)::float8 AS claims, (SELECT count(*) FROM leases)::float8 AS leases`;

interface Looked {
  marks: string[];
  missing: { process: string; mark: string }[];
}

export class DeadHosts {
  readonly #database: Database;
  /** Marks that were there since this host listens. */
  readonly #seen = new Set<string>();
  /** Processes whose mark was gone at the last look. */
  #gone = new Set<string>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** This process lives for as long as the connection does. After a restart of the database the others' marks come back later. */
  async take(connection: { query(text: string, values: string[]): Promise<unknown> }): Promise<void> {
    this.#seen.clear();
    await connection.query(TAKE, [PROCESS_ID]);
  }

  /** Ends claims and leases of hosts that died; true where a claim ended. Throws `store_read_failed`, `store_write_failed`. */
  async look(): Promise<boolean> {
    const [found] = await this.#database.rows<Looked>("store_read_failed", LOOK, [PROCESS_ID]);
    const { marks = [], missing = [] } = found ?? {};
    for (const mark of marks) this.#seen.add(mark);
    const gone = missing.filter(({ mark }) => this.#seen.has(mark)).map(({ process }) => process);
    const dead = gone.filter((process) => this.#gone.has(process));
    this.#gone = new Set(gone);
    if (dead.length === 0) return false;
    const values = [dead, this.#database.target.leaseMs / 2];
    const [ended] = await this.#database.rows<{ claims: number; leases: number }>(
      "store_write_failed",
      END,
      values,
    );
    return (ended?.claims ?? 0) > 0;
  }
}
