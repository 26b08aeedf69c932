/**
 * Runs one job at the engine in this process, sent by its parent, and returns the figures. As in the command line, the host
 * is loaded.
 */
import { keepYoungGenerationSmall } from "../../packages/core/src/platform/heap-growth.ts";
import type { AssembleJob } from "./assemble-jobs.ts";
import type { Figures } from "./jobs.ts";

/** Loaded on demand: the job that measures memory begins with a host that has nothing else. */
const JOBS: Record<AssembleJob["name"], () => Promise<(job: AssembleJob) => Promise<Figures>>> = {
  fresh: async () => (await import("./assemble-jobs.ts")).fresh,
  whole: async () => (await import("./assemble-jobs.ts")).whole,
  turns: async () => (await import("./assemble-jobs.ts")).turns,
  waiting: async () => (await import("./compaction-jobs.ts")).waiting,
  memory: async () => (await import("./assemble-memory.ts")).memory,
};

async function run(job: AssembleJob): Promise<void> {
  await import("../../packages/app/src/index.ts");
  keepYoungGenerationSmall();
  const work = await JOBS[job.name]();
  process.send?.(await work(job));
  process.disconnect();
}

process.once("message", (job: AssembleJob) => void run(job));
