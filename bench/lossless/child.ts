/** One job of the benchmark in this process, told by its parent; the figures go back, and the process ends. */
import { JOBS, type Job } from "./jobs.ts";

process.once("message", (job: Job) => {
  void JOBS[job.name](job).then((figures) => {
    process.send?.(figures);
    process.disconnect();
  });
});
