/** Jobs in the server's database. The command line writes here too: a server that runs notices. */
import { PagurusError } from "../contract/errors.ts";
import type { Database } from "../data/sqlite.ts";
import { IdSource } from "../platform/ids.ts";
import { checkTimes, dueAfter } from "./due-times.ts";
import type { Job, JobOutcome, NewJob } from "./job.ts";

interface JobRow {
  id: string;
  agent: string;
  session: string;
  definition: string;
  paused: number;
  next: number | null;
  manual: number | null;
  stamp: string | null;
  last: number | null;
  outcome: string | null;
  created: number;
}

/** A job with what the scheduler needs of it. */
export interface StoredJob extends Job {
  /** Moment of a request to run it now. */
  manualAt?: number;
  /** What its file was at the last run. */
  stamp?: string;
}

/** What came of a due time; `next` absent: it is not due again. */
export interface JobMark {
  outcome: JobOutcome;
  next: number | undefined;
  stamp?: string | undefined;
}

type Definition = Pick<NewJob, "times" | "missed" | "request" | "check">;

function jobOf(row: JobRow): StoredJob {
  const definition = JSON.parse(row.definition) as Definition;
  return {
    id: row.id,
    agentId: row.agent,
    sessionKey: row.session,
    ...definition,
    isPaused: row.paused === 1,
    ...(row.next === null ? {} : { nextAt: row.next }),
    ...(row.manual === null ? {} : { manualAt: row.manual }),
    ...(row.stamp === null ? {} : { stamp: row.stamp }),
    ...(row.last === null ? {} : { lastAt: row.last }),
    ...(row.outcome === null ? {} : { lastOutcome: row.outcome as JobOutcome }),
    createdAt: row.created,
  };
}

export class JobStore {
  readonly #db: Database;
  readonly #now: () => number;

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  /** Throws `usage_invalid` for times that cannot be used or never come. */
  add(job: NewJob, id = new IdSource({ now: this.#now }).next()): Job {
    const { agentId, sessionKey, times, missed, request, check } = job;
    checkTimes(times);
    const now = this.#now();
    const next = dueAfter(times, now);
    if (next === undefined)
      throw new PagurusError("usage_invalid", "The job would never be due; give a time in the future.");
    this.#db.run(
      "INSERT INTO jobs (id, agent, session, definition, paused, next, created) VALUES (?, ?, ?, ?, 0, ?, ?)",
      id,
      agentId,
      sessionKey,
      JSON.stringify({ times, missed, request, check }),
      next,
      now,
    );
    return this.get(id);
  }

  list(): Job[] {
    const rows = this.#db.all<JobRow>("SELECT * FROM jobs ORDER BY next IS NULL, next, id");
    return rows.map((row) => {
      const { stamp: _, manualAt: __, ...job } = jobOf(row);
      return job;
    });
  }

  /** Throws `job_not_found`. */
  get(id: string): StoredJob {
    const row = this.#db.get<JobRow>("SELECT * FROM jobs WHERE id = ?", id);
    if (row) return jobOf(row);
    throw new PagurusError("job_not_found", `There is no job ${id}; pagurus jobs list shows them.`, {
      details: { id },
    });
  }

  /** Throws `job_not_found`. */
  remove(id: string): void {
    this.get(id);
    this.#db.run("DELETE FROM jobs WHERE id = ?", id);
  }

  /** Throws `job_not_found`. */
  pause(id: string): Job {
    this.get(id);
    this.#db.run("UPDATE jobs SET paused = 1 WHERE id = ?", id);
    return this.get(id);
  }

  /** Due again from now on: times during the pause are not missed ones. Throws `job_not_found`. */
  resume(id: string): Job {
    const { times } = this.get(id);
    this.#db.run(
      "UPDATE jobs SET paused = 0, next = ? WHERE id = ?",
      dueAfter(times, this.#now()) ?? null,
      id,
    );
    return this.get(id);
  }

  /** Asks the server to run it now, or as soon as one runs. Throws `job_not_found`. */
  runNow(id: string): Job {
    this.get(id);
    this.#db.run("UPDATE jobs SET manual = ? WHERE id = ?", this.#now(), id);
    return this.get(id);
  }

  /** Jobs that are due or asked for, the earliest first. */
  due(now: number): StoredJob[] {
    return this.#db
      .all<JobRow>(
        "SELECT * FROM jobs WHERE manual IS NOT NULL OR (paused = 0 AND next <= ?) ORDER BY next, id",
        now,
      )
      .map(jobOf);
  }

  /** The earliest due time of all; 0 where one is asked for now. */
  nextAt(): number | undefined {
    const asked = this.#db.get("SELECT 1 FROM jobs WHERE manual IS NOT NULL LIMIT 1");
    if (asked) return 0;
    const row = this.#db.get<{ next: number | null }>("SELECT min(next) AS next FROM jobs WHERE paused = 0");
    return row?.next ?? undefined;
  }

  /** Ends a due time, unless another change of the job came first. */
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

  /** Ends a request to run it now. */
  markManual(id: string, at: number, outcome: JobOutcome): void {
    this.#db.run(
      "UPDATE jobs SET manual = NULL, last = ?, outcome = ? WHERE id = ? AND manual = ?",
      at,
      outcome,
      id,
      at,
    );
  }
}
