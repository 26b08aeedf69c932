/** Creates the scheduled jobs of a home of OpenClaw as jobs here, each once. */
import { isPagurusError, toPagurusError } from "@pagurus/contract/errors";
import { type Fields, recordOf } from "@pagurus/core/data/record-fields";
import { defaultAgentOf } from "../config/default-agent.ts";
import { readJob, type ForeignJob, type JobSettings, type ReadJob } from "./read-job.ts";
import { storedJobs } from "./stored-jobs.ts";

export interface MigratedJob {
  /** Its id in OpenClaw. */
  sourceId: string;
  name: string;
  agentId: string;
  /** `paused`: created, and due once it is resumed; `here`: created before; `left`: no job here does the same. */
  state: "taken" | "paused" | "here" | "left" | "failed";
  /** Its id here; absent for `left`. */
  id?: string;
  /** Its parts that are not taken, or why it is not; sentences. */
  what: string[];
}

/** Jobs of this home, to which those of OpenClaw are added. Each method throws what its database throws. */
export interface JobPlace {
  has(id: string): Promise<boolean>;
  /** Throws `usage_invalid` for times that cannot be used. */
  add(job: ForeignJob): Promise<void>;
}

export interface TakeJobsOptions {
  /** OpenClaw's home. */
  folder: string;
  /** OpenClaw's configuration, as read. */
  config: unknown;
  now: number;
  /** Runs the work with the jobs of this home; absent in a dry run without any. */
  withJobs?: ((work: (jobs: JobPlace) => Promise<void>) => Promise<void>) | undefined;
  dryRun: boolean;
}

export interface TakenJobs {
  jobs: MigratedJob[];
  problems: string[];
}

/** Never throws: what cannot be created is reported. */
export async function takeJobs(options: TakeJobsOptions): Promise<TakenJobs> {
  const { folder, config, now, withJobs, dryRun } = options;
  const { jobs: stored, problems } = storedJobs(folder);
  const settings = settingsOf(recordOf(config), now);
  const read = stored.map((each) => ({ sourceId: each.id, ...readJob(each, settings) }));
  const done = new Map<string, MigratedJob["state"]>();
  const creatable = read.flatMap(({ job }) => job ?? []);
  if (creatable.length > 0 && withJobs)
    try {
      await withJobs(async (place) => {
        for (const job of creatable) done.set(job.id, await created(place, job, dryRun, read));
      });
    } catch (error) {
      problems.push(`Scheduled jobs are not taken: ${toPagurusError(error).message}`);
      for (const { id } of creatable) if (!done.has(id)) done.set(id, "failed");
    }
  return { jobs: read.map((each) => reported(each, done)), problems };
}

async function created(
  place: JobPlace,
  job: ForeignJob,
  dryRun: boolean,
  read: readonly ReadJob[],
): Promise<MigratedJob["state"]> {
  if (await place.has(job.id)) return "here";
  const state = job.isPaused ? "paused" : "taken";
  if (dryRun) return state;
  try {
    await place.add(job);
    return state;
  } catch (error) {
    if (!isPagurusError(error) || error.code !== "usage_invalid") throw error;
    read.find((each) => each.job === job)?.what.unshift(error.message);
    return "failed";
  }
}

function reported(
  { sourceId, name, agentId, job, what }: ReadJob & { sourceId: string },
  done: ReadonlyMap<string, MigratedJob["state"]>,
): MigratedJob {
  if (!job) return { sourceId, name, agentId, state: "left", what };
  const state = done.get(job.id) ?? (job.isPaused ? "paused" : "taken");
  const about = state === "here" ? ["It was created before; its changes since then are not taken."] : what;
  return { sourceId, name, agentId, state, id: job.id, what: about };
}

function settingsOf(config: Fields, now: number): JobSettings {
  const { enabled, skipMissedJobs } = recordOf(config["cron"]);
  return {
    agentId: defaultAgentOf(config),
    isOff: enabled === false,
    skipsMissed: skipMissedJobs === true,
    now,
  };
}
