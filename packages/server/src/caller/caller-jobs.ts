/** Jobs as one caller may use them: those of its sessions; a new one has the authority of who makes it. */
import { beyond, checkPlace, checkScope, sees } from "@pagurus/core/authority/authority";
import type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
import type { Job, NewJob } from "@pagurus/inbox/schedule/job";
import type { JobCheck } from "@pagurus/api/types";
import type { Jobs } from "@pagurus/inbox/schedule/jobs";
import type { Caller } from "../access/caller.ts";

export type CallerJobs = ReturnType<typeof callerJobs>;

/** Each method throws `job_not_found`, and `token_invalid` for a job in a session that the caller may not use. */
export function callerJobs(caller: Caller, host: PagurusHost, jobs: Jobs) {
  const get = async (id: string): Promise<Job> => {
    checkScope(caller, "admin", "look at jobs");
    const { stamp: _stamp, manualAt: _manualAt, ...found } = await jobs.get(id);
    checkPlace(caller, found);
    return found;
  };
  const change =
    <T>(work: (id: string) => Promise<T> | T) =>
    async (id: string): Promise<T> =>
      work((await get(id)).id);
  return {
    get,
    async list(): Promise<Job[]> {
      checkScope(caller, "admin", "list jobs");
      return (await jobs.list()).filter((job) => sees(caller, job));
    },
    async add(job: NewJob): Promise<Job> {
      checkScope(caller, "admin", "create a job");
      checkPlace(caller, job);
      host.check.run({ ...job.request, agentId: job.agentId, sessionKey: job.sessionKey });
      checkCheck(caller, host, job);
      return jobs.add(caller.door === "owner" ? job : { ...job, authority: caller });
    },
    pause: change((id) => jobs.pause(id)),
    resume: change((id) => jobs.resume(id)),
    runNow: change((id) => jobs.runNow(id)),
    remove: change((id) => jobs.remove(id)),
  };
}

/** Throws `token_invalid`. */
function checkCheck(caller: Caller, host: PagurusHost, job: NewJob & { check?: JobCheck | undefined }): void {
  const { check, agentId, sessionKey } = job;
  if (check?.kind === "command" && !caller.mayStartPrograms)
    throw beyond(
      "give a job a command",
      "only its owner and an unlimited token of scope admin may start programs",
    );
  if (check?.kind === "file") host.check.folder(check.path, { agentId, sessionKey });
}
