/** Jobs in the server's own database. */
import type { Database } from "@pagurus/core/data/sqlite";
import { dueAfter } from "./due-times.ts";
import type { Job, JobOutcome, NewJob } from "./job.ts";
import {
  jobNotFound,
  jobOf,
  listed,
  newJobRow,
  type JobMark,
  type JobRow,
  type Jobs,
  type StoredJob,
} from "./jobs.ts";

export class JobStore implements Jobs {
  readonly #db: Database;
  readonly #now: () => number;

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  add(job: NewJob, id?: string): Job {
    const row = newJobRow(job, id, this.#now());
    this.#db.run(
      "INSERT OR IGNORE INTO jobs (id, agent, session, definition, paused, next, created) VALUES (?, ?, ?, ?, ?, ?, ?)",
      row.id,
      row.agent,
      row.session,
      row.definition,
      row.paused,
      row.next,
      row.created,
    );
    return this.get(row.id);
  }

  list(): Job[] {
    return this.#db.all<JobRow>("SELECT * FROM jobs ORDER BY next IS NULL, next, id").map(listed);
  }

  get(id: string): StoredJob {
    const row = this.#db.get<JobRow>("SELECT * FROM jobs WHERE id = ?", id);
    if (row) return jobOf(row);
    throw jobNotFound(id);
  }

  remove(id: string): void {
    this.get(id);
    this.#db.run("DELETE FROM jobs WHERE id = ?", id);
  }

  pause(id: string): Job {
    this.get(id);
    this.#db.run("UPDATE jobs SET paused = 1 WHERE id = ?", id);
    return this.get(id);
  }

  resume(id: string): Job {
    const { times } = this.get(id);
    this.#db.run(
      "UPDATE jobs SET paused = 0, next = ? WHERE id = ?",
      dueAfter(times, this.#now()) ?? null,
      id,
    );
    return this.get(id);
  }

  runNow(id: string): Job {
    this.get(id);
    this.#db.run("UPDATE jobs SET manual = ? WHERE id = ?", this.#now(), id);
    return this.get(id);
  }

  due(now: number): StoredJob[] {
    return this.#db
      .all<JobRow>(
        "SELECT * FROM jobs WHERE manual IS NOT NULL OR (paused = 0 AND next <= ?) ORDER BY next, id",
        now,
      )
      .map(jobOf);
  }

  nextAt(): number | undefined {
    const asked = this.#db.get("SELECT 1 FROM jobs WHERE manual IS NOT NULL LIMIT 1");
    if (asked) return 0;
    const row = this.#db.get<{ next: number | null }>("SELECT min(next) AS next FROM jobs WHERE paused = 0");
    return row?.next ?? undefined;
  }

  mark(id: string, due: number, { outcome, next, stamp }: JobMark): void {
    this.#db.run(
      "UPDATE jobs SET next = ?, last = ?, outcome = ?, stamp = coalesce(?, stamp) WHERE id = ? AND next = ?",
      next ?? null,
      due,
      outcome,
      stamp ?? null,
      id,
      due,
    );
  }

  markManual(id: string, at: number, outcome: JobOutcome): void {
    this.#db.run(
      "UPDATE jobs SET manual = NULL, last = ?, outcome = ? WHERE id = ? AND manual = ?",
      at,
      outcome,
      id,
      at,
    );
  }

  revision(): string {
    return this.#db.revision();
  }
}
