/**
 * Posts due jobs to the inbox. The idempotency key of a run is made of job and due time, so a crash between the post and the mark
 * does not double it. One timer serves all jobs.
 */
import { OWN_JOB } from "@pagurus/core/authority/doors";
import { isPagurusError, toPagurusError } from "@pagurus/contract/errors";
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import type { NewWork } from "../work.ts";
import type { Logger } from "@pagurus/core/platform/log";
import { dueAfter } from "./due-times.ts";
import { checkJob } from "./job-check.ts";
import type { JobOutcome } from "./job.ts";
import type { Jobs, StoredJob } from "./jobs.ts";

/** Longest sleep, ms: a change by another process, or of the clock, is noticed after it. */
const LOOK_MS = 1_000;
/** A time that is later than this was missed, ms. */
export const MISSED_AFTER_MS = 60_000;
/** Pause after a post that failed, ms: most likely the disk is full. */
const RETRY_MS = 5_000;

export interface SchedulerOptions {
  jobs: Jobs;
  /** Resolves when the work is on disk, and begins it. */
  post(work: NewWork): Promise<void>;
  logger: Logger;
  clock?: Clock;
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #clock: Clock;
  readonly #busy = new Map<string, Promise<void>>();
  #cancel: (() => void) | undefined;
  #looking: Promise<void> | undefined;
  #revision = "";
  #nextAt: number | undefined;
  #notBefore = 0;
  #stopped = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
  }

  start(): void {
    if (!this.#stopped) this.#looking = this.#look();
  }

  async #look(): Promise<void> {
    let wait = LOOK_MS;
    try {
      wait = await this.#fireDue();
    } catch (error) {
      this.#options.logger.error("schedule not read", { code: toPagurusError(error).code });
    }
    if (!this.#stopped) this.#cancel = this.#clock.after(wait, () => this.start());
  }

  /** Returns how long to sleep, ms. */
  async #fireDue(): Promise<number> {
    const { jobs } = this.#options;
    const now = this.#clock.now();
    const current = jobs.revision();
    if (current !== this.#revision) this.#nextAt = await jobs.nextAt();
    this.#revision = current;
    if (this.#nextAt === undefined) return LOOK_MS;
    if (this.#nextAt > now) return Math.min(LOOK_MS, this.#nextAt - now);
    if (now < this.#notBefore) return LOOK_MS;
    for (const job of await jobs.due(now)) {
      if (this.#busy.has(job.id)) continue;
      const done = this.#fire(job, now)
        .catch((error: unknown) => {
          this.#notBefore = this.#clock.now() + RETRY_MS;
          this.#options.logger.error("job not posted", { job: job.id, code: toPagurusError(error).code });
        })
        .finally(() => {
          this.#busy.delete(job.id);
        });
      this.#busy.set(job.id, done);
    }
    return LOOK_MS;
  }

  async #fire(job: StoredJob, now: number): Promise<void> {
    const { jobs } = this.#options;
    const { id, manualAt, nextAt, times } = job;
    if (manualAt !== undefined) {
      await this.#post(job, `${id}:run:${manualAt}`);
      await jobs.markManual(id, manualAt, "posted");
    }
    if (job.isPaused || nextAt === undefined || nextAt > now) return;
    const isSkipped = now - nextAt > MISSED_AFTER_MS && job.missed === "skip";
    const { outcome, stamp } = isSkipped
      ? { outcome: "missed" as const, stamp: undefined }
      : await this.#run(job, nextAt);
    await jobs.mark(id, nextAt, { outcome, stamp, next: dueAfter(times, Math.max(now, nextAt)) });
  }

  async #run(job: StoredJob, due: number): Promise<{ outcome: JobOutcome; stamp: string | undefined }> {
    const { isNeeded, stamp } = await checkJob(job.check, { stamp: job.stamp, cwd: job.request.cwd });
    if (!isNeeded) return { outcome: "unneeded", stamp };
    await this.#post(job, `${job.id}:${due}`);
    return { outcome: "posted", stamp };
  }

  async #post(
    { id, agentId, sessionKey, request, authority = OWN_JOB }: StoredJob,
    idempotencyKey: string,
  ): Promise<void> {
    const work = { agentId, sessionKey, kind: "turn" as const, request, policy: "queue" as const };
    try {
      await this.#options.post({ ...work, origin: `job:${id}`, authority, idempotencyKey });
    } catch (error) {
      // Posted before the job was changed: this time has its run.
      if (!isPagurusError(error) || error.code !== "idempotency_conflict") throw error;
    }
  }

  /** Begins nothing more, and waits for what it is posting. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#looking;
    await Promise.all(this.#busy.values());
  }
}
