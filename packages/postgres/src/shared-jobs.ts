/**
 * Jobs in a database that several hosts share. The statement that finds due jobs claims them, so that one host fires each; a host that died in
 * the middle has its claim for as long as a lease, and the idempotency key of the run prevents a second one.
 */
import type { Database } from "./connections.ts";
import { dueAfter } from "@pagurus/inbox/schedule/due-times";
import type { Job, JobOutcome, NewJob } from "@pagurus/inbox/schedule/job";
import {
  jobNotFound,
  jobOf,
  listed,
  newJobRow,
  type JobMark,
  type JobRow,
  type Jobs,
  type StoredJob,
} from "@pagurus/inbox/schedule/jobs";

/** Of a row as `JobRow`. */
export const JOB_COLUMNS = `id, agent, session, definition, paused, next::float8 AS next, manual::float8 AS manual, stamp,
 last::float8 AS last, outcome, created::float8 AS created`;
const OWN_ROWS = "tenant = current_user";
const FREE = "(claim_until IS NULL OR claim_until < clock_timestamp())";
const ADD = `INSERT INTO {s}.jobs (id, agent, session, definition, paused, next, manual, stamp, last, outcome, created)
 SELECT id, agent, session, definition, paused, next, manual, stamp, last, outcome, created
   FROM json_populate_recordset(null::{s}.jobs, $1) ON CONFLICT DO NOTHING`;
const DUE = `UPDATE {s}.jobs SET claim_until = clock_timestamp() + $2 * interval '1 millisecond'
 WHERE ${OWN_ROWS} AND (manual IS NOT NULL OR (paused = 0 AND next <= $1)) AND ${FREE} RETURNING ${JOB_COLUMNS}`;
const NEXT = `SELECT CASE WHEN EXISTS (SELECT FROM {s}.jobs WHERE ${OWN_ROWS} AND manual IS NOT NULL AND ${FREE}) THEN 0
 ELSE (SELECT min(next)::float8 FROM {s}.jobs WHERE ${OWN_ROWS} AND paused = 0 AND ${FREE}) END AS next`;
const MARK = `UPDATE {s}.jobs SET next = $3, last = $2, outcome = $4, stamp = coalesce($5, stamp), claim_until = NULL
 WHERE ${OWN_ROWS} AND id = $1 AND next = $2`;
/** A due time of the same job is still this host's. */
const MARK_MANUAL = `UPDATE {s}.jobs SET manual = NULL, last = $2, outcome = $3,
   claim_until = CASE WHEN paused = 0 AND next <= $4 THEN claim_until END
 WHERE ${OWN_ROWS} AND id = $1 AND manual = $2`;

export class SharedJobs implements Jobs {
  readonly #database: Database;
  readonly #now: () => number;
  #looks = 0;

  constructor(database: Database, now: () => number = Date.now) {
    this.#database = database;
    this.#now = now;
  }

  /** Adds jobs that a host had for itself; one whose id is known already stays as it is. */
  async adopt(rows: readonly JobRow[]): Promise<void> {
    await this.#database.rows("store_write_failed", ADD, [JSON.stringify(rows)]);
  }

  async add(job: NewJob, id?: string): Promise<Job> {
    const row = newJobRow(job, id, this.#now());
    await this.adopt([row]);
    return this.get(row.id);
  }

  async list(): Promise<Job[]> {
    const text = `SELECT ${JOB_COLUMNS} FROM {s}.jobs WHERE ${OWN_ROWS} ORDER BY jobs.next NULLS LAST, id`;
    return (await this.#database.rows<JobRow>("store_read_failed", text, [])).map(listed);
  }

  async get(id: string): Promise<StoredJob> {
    const text = `SELECT ${JOB_COLUMNS} FROM {s}.jobs WHERE ${OWN_ROWS} AND id = $1`;
    const [row] = await this.#database.rows<JobRow>("store_read_failed", text, [id]);
    if (row) return jobOf(row);
    throw jobNotFound(id);
  }

  /** Changes one job. Throws `job_not_found`. */
  async #change(id: string, change: string, values: readonly unknown[] = []): Promise<StoredJob> {
    const text = `UPDATE {s}.jobs SET ${change} WHERE ${OWN_ROWS} AND id = $1 RETURNING ${JOB_COLUMNS}`;
    const [row] = await this.#database.rows<JobRow>("store_write_failed", text, [id, ...values]);
    if (row) return jobOf(row);
    throw jobNotFound(id);
  }

  async remove(id: string): Promise<void> {
    await this.get(id);
    await this.#database.rows("store_write_failed", `DELETE FROM {s}.jobs WHERE ${OWN_ROWS} AND id = $1`, [
      id,
    ]);
  }

  async pause(id: string): Promise<Job> {
    return this.#change(id, "paused = 1");
  }

  async resume(id: string): Promise<Job> {
    const { times } = await this.get(id);
    return this.#change(id, "paused = 0, next = $2", [dueAfter(times, this.#now()) ?? null]);
  }

  async runNow(id: string): Promise<Job> {
    return this.#change(id, "manual = $2", [this.#now()]);
  }

  async due(now: number): Promise<StoredJob[]> {
    const values = [now, this.#database.target.leaseMs];
    const rows = await this.#database.rows<JobRow>("store_write_failed", DUE, values);
    const found = rows.map(jobOf);
    return found.toSorted((one, other) => (one.nextAt ?? 0) - (other.nextAt ?? 0));
  }

  async nextAt(): Promise<number | undefined> {
    const [row] = await this.#database.rows<{ next: number | null }>("store_read_failed", NEXT, []);
    return row?.next ?? undefined;
  }

  async mark(id: string, due: number, { outcome, next, stamp }: JobMark): Promise<void> {
    const values = [id, due, next ?? null, outcome, stamp ?? null];
    await this.#database.rows("store_write_failed", MARK, values);
  }

  async markManual(id: string, at: number, outcome: JobOutcome): Promise<void> {
    await this.#database.rows("store_write_failed", MARK_MANUAL, [id, at, outcome, this.#now()]);
  }

  /** Another host may have written: each look asks. */
  revision(): string {
    return String((this.#looks += 1));
  }
}
