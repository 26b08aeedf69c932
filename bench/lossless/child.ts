/** Runs one job of the benchmark in this process, sent by its parent, and returns the figures. */
import { JOBS, type Job } from "./jobs.ts";

process.once("message", (job: Job) => {
  void JOBS[job.name](job).then((figures) => {
    process.send?.(figures);
    process.disconnect();
  });
});
