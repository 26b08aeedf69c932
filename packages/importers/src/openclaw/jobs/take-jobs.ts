/** Creates the scheduled jobs of a home of OpenClaw as jobs here, each once. */
import { isPagurusError, toPagurusError } from "@pagurus/contract/errors";
import { type Fields, recordOf } from "@pagurus/core/data/record-fields";
import { defaultAgentOf } from "../config/default-agent.ts";
import { jobMemory, type JobMemory } from "./job-memory.ts";
import { readJob, type ForeignJob, type JobSettings, type ReadJob } from "./read-job.ts";
import { storedJobs } from "./stored-jobs.ts";

export interface MigratedJob {
  /** Its id in OpenClaw. */
  sourceId: string;
  name: string;
  agentId: string;
  /**
   * `paused`: created, and due once it is resumed; `here`: created before; `removed`: created before, and removed here since; `left`: no
   * job here does the same.
   */
  state: "taken" | "paused" | "here" | "removed" | "left" | "failed";
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
  /** This host's home. */
  home: string;
  dryRun: boolean;
}

export interface TakenJobs {
  jobs: MigratedJob[];
  problems: string[];
}

/** Never throws: what cannot be created is reported. */
export async function takeJobs(options: TakeJobsOptions): Promise<TakenJobs> {
  const { folder, config, now, withJobs, home, dryRun } = options;
  const { jobs: stored, problems } = storedJobs(folder);
  const settings = settingsOf(recordOf(config), now);
  const memory = readMemory(home, problems);
  const read = stored.map((each) => ({ sourceId: each.id, ...readJob(each, settings) }));
  const done = new Map<string, MigratedJob["state"]>();
  const creatable = read.flatMap(({ job, sourceId }) => (job ? [{ job, sourceId }] : []));
  if (creatable.length > 0 && withJobs && memory)
    try {
      await withJobs(async (place) => {
        for (const { job, sourceId } of creatable) {
          const state = await created(place, job, { sourceId, memory, dryRun, read });
          done.set(job.id, state);
          if (!dryRun && state !== "failed" && !memory.has(sourceId)) memory.add(sourceId);
        }
      });
    } catch (error) {
      problems.push(`Scheduled jobs are not taken: ${toPagurusError(error).message}`);
      for (const { job } of creatable) if (!done.has(job.id)) done.set(job.id, "failed");
    }
  if (!memory) for (const { job } of creatable) done.set(job.id, "failed");
  return { jobs: read.map((each) => reportedJob(each, done, memory)), problems };
}

/** Undefined if it cannot be read: jobs that were removed would be created again. */
function readMemory(home: string, problems: string[]): JobMemory | undefined {
  try {
    return jobMemory(home);
  } catch (error) {
    problems.push(`Scheduled jobs are not taken: ${toPagurusError(error).message}`);
    return undefined;
  }
}

interface Creating {
  sourceId: string;
  memory: JobMemory;
  dryRun: boolean;
  read: readonly ReadJob[];
}

async function created(
  place: JobPlace,
  job: ForeignJob,
  { sourceId, memory, dryRun, read }: Creating,
): Promise<MigratedJob["state"]> {
  if (await place.has(job.id)) return "here";
  if (memory.has(sourceId)) return "removed";
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

function reportedJob(
  { sourceId, name, agentId, job, what }: ReadJob & { sourceId: string },
  done: ReadonlyMap<string, MigratedJob["state"]>,
  memory: JobMemory | undefined,
): MigratedJob {
  if (!job) return { sourceId, name, agentId, state: "left", what };
  const unseen = memory?.has(sourceId) ? "removed" : job.isPaused ? "paused" : "taken";
  const state = done.get(job.id) ?? unseen;
  const about =
    state === "here"
      ? ["It was created before; its changes since then are not taken."]
      : state === "removed"
        ? [
            `It was created before and removed here; without its id ${sourceId} in ${memory?.file} it is created again.`,
          ]
        : what;
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
