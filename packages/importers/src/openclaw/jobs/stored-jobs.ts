/**
 * Scheduled jobs of a home of OpenClaw, as stored: the table `cron_jobs` of its state database, whose rows are JSON, or `cron/jobs.json` of
 * versions before it. Nothing is written.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { toPagurusError } from "@pagurus/contract/errors";
import { type Fields, filledString, isRecord, listOf, recordOf } from "@pagurus/core/data/record-fields";
import { parseFields } from "../../sessions/foreign-fields.ts";
import { openForReading } from "../../sessions/sqlite-source.ts";

export interface StoredJob {
  id: string;
  job: Fields;
  /** Notes that runs of the job leave for the next one. */
  scratch?: string;
}

export interface StoredJobs {
  jobs: StoredJob[];
  /** Parts that cannot be read; a sentence each. */
  problems: string[];
}

/** In OpenClaw's own order. Never throws. */
export function storedJobs(home: string): StoredJobs {
  const found: StoredJobs = { jobs: [], problems: [] };
  const database = join(home, "state", "openclaw.sqlite");
  const file = join(home, "cron", "jobs.json");
  for (const [path, read] of [
    [database, readDatabase],
    [file, readJobsFile],
  ] as const) {
    if (!existsSync(path)) continue;
    try {
      read(path, found);
    } catch (error) {
      const why = toPagurusError(error).message;
      found.problems.push(`The scheduled jobs in ${path} cannot be read (${why}) and are not taken.`);
    }
  }
  return found;
}

function add({ jobs, problems }: StoredJobs, id: string | undefined, path: string, job: unknown): void {
  if (id === undefined || !isRecord(job)) {
    problems.push(`The scheduled job ${id ?? "without an id"} in ${path} cannot be read and is not taken.`);
    return;
  }
  // The file is older than the database.
  if (!jobs.some((known) => known.id === id)) jobs.push({ id, job });
}

function readDatabase(path: string, found: StoredJobs): void {
  const db = openForReading(path);
  try {
    const columns = (table: string): string[] =>
      db
        .prepare("SELECT name FROM pragma_table_info(?)")
        .all(table)
        .map(({ name }) => String(name));
    if (columns("cron_jobs").length === 0) return;
    for (const row of db.prepare("SELECT * FROM cron_jobs ORDER BY sort_order, updated_at, job_id").all())
      add(found, filledString(row["job_id"]), path, parseFields(row["job_json"]));
    if (columns("cron_job_scratch").length === 0) return;
    for (const row of db.prepare("SELECT job_id, content FROM cron_job_scratch").all()) {
      const job = found.jobs.find(({ id }) => id === row["job_id"]);
      const scratch = filledString(row["content"]);
      if (job && scratch !== undefined) job.scratch = scratch;
    }
  } finally {
    db.close();
  }
}

function readJobsFile(path: string, found: StoredJobs): void {
  for (const job of listOf(recordOf(JSON.parse(readFileSync(path, "utf8")))["jobs"])) {
    const { id, jobId, name } = recordOf(job);
    add(found, filledString(id) ?? filledString(jobId) ?? filledString(name), path, job);
  }
}
