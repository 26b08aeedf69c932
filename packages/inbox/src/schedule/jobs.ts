/**
 * Where jobs are: in this host's own database (`JobStore`), or in one that several hosts share (`SharedJobs`). The command line writes there
 * too: a server that runs notices.
 */
import { PagurusError } from "@pagurus/contract/errors";
import type { Awaitable } from "../inbox.ts";
import { IdSource } from "@pagurus/core/platform/ids";
import { checkTimes, dueAfter } from "./due-times.ts";
import type { Job, JobOutcome, NewJob } from "./job.ts";
import { defined } from "@pagurus/core/data/defined";

/** Values of `paused` beside 0 and 1, in a home's own database: a copy into a shared one has begun, and the job fires there. */
export const HANDING_OVER = 2;
export const HANDED_OVER = 3;

export interface JobRow {
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

/** Each method throws `store_write_failed` or `store_read_failed` where a shared database cannot be reached. */
export interface Jobs {
  /** Throws `usage_invalid` for times that cannot be used or never come. A job that has this id already stays as it is. */
  add(job: NewJob, id?: string): Awaitable<Job>;
  /** The next one first. */
  list(): Awaitable<Job[]>;
  /** Throws `job_not_found`, as the ones below. */
  get(id: string): Awaitable<StoredJob>;
  remove(id: string): Awaitable<void>;
  pause(id: string): Awaitable<Job>;
  /** Due again from now on: times during the pause are not missed ones. */
  resume(id: string): Awaitable<Job>;
  /** Asks a server to run it now, or as soon as one runs. */
  runNow(id: string): Awaitable<Job>;
  /** Jobs that are due or asked for, the earliest first. They are this host's until it marks them, and for a limited time. */
  due(now: number): Awaitable<StoredJob[]>;
  /** The earliest due time of all; 0 where one is asked for now. */
  nextAt(): Awaitable<number | undefined>;
  /** Ends a due time, unless another change of the job came first. */
  mark(id: string, due: number, mark: JobMark): Awaitable<void>;
  /** Ends a request to run it now. */
  markManual(id: string, at: number, outcome: JobOutcome): Awaitable<void>;
  /** Changes with each write to the jobs, by any process. */
  revision(): string;
}

type Definition = Pick<NewJob, "times" | "missed" | "request" | "check" | "authority">;

export function jobOf(row: JobRow): StoredJob {
  const definition = JSON.parse(row.definition) as Definition;
  return {
    id: row.id,
    agentId: row.agent,
    sessionKey: row.session,
    ...definition,
    isPaused: row.paused !== 0,
    ...(row.paused > 1 ? { isElsewhere: true as const } : {}),
    ...defined({
      nextAt: row.next ?? undefined,
      manualAt: row.manual ?? undefined,
      stamp: row.stamp ?? undefined,
      lastAt: row.last ?? undefined,
    }),
    ...(row.outcome === null ? {} : { lastOutcome: row.outcome as JobOutcome }),
    createdAt: row.created,
  };
}

/** Without what is the scheduler's. */
export function listed(row: JobRow): Job {
  const { stamp: _, manualAt: __, ...job } = jobOf(row);
  return job;
}

/** A row for a new job. Throws `usage_invalid` for times that cannot be used or never come. */
export function newJobRow(job: NewJob, id: string | undefined, now: number): JobRow {
  const { agentId: agent, sessionKey: session, times, missed, request, check, authority, isPaused } = job;
  checkTimes(times);
  const next = dueAfter(times, now);
  if (next === undefined)
    throw new PagurusError("usage_invalid", "The job would never be due; give a time in the future.");
  return {
    id: id ?? new IdSource({ now: () => now }).next(),
    agent,
    session,
    definition: JSON.stringify({ times, missed, request, check, authority }),
    paused: isPaused === true ? 1 : 0,
    next,
    manual: null,
    stamp: null,
    last: null,
    outcome: null,
    created: now,
  };
}

export function jobNotFound(id: string): PagurusError {
  return new PagurusError("job_not_found", `There is no job ${id}; pagurus jobs list shows them.`, {
    details: { id },
  });
}
