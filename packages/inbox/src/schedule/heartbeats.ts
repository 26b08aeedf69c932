/** Heartbeats of the configuration as jobs: one for each agent that has one. */
import { DEFAULT_AGENT_ID } from "@pagurus/core/config/agent-settings";
import type { HeartbeatConfig, PagurusConfig } from "@pagurus/core/config/config-types";
import { isPagurusError } from "@pagurus/contract/errors";
import { intervalMs } from "@pagurus/core/data/interval";
import type { NewJob } from "./job.ts";
import type { Jobs } from "./jobs.ts";
import { defined } from "@pagurus/core/data/defined";

/** Ids of the jobs of heartbeats begin with it. */
export const HEARTBEAT_PREFIX = "heartbeat-";
const DEFAULT_EVERY = "30m";
const PROMPT =
  "Heartbeat: look for work that is due or that you left open, and do it. If there is nothing to do, answer HEARTBEAT_OK and nothing else.";

function jobOf(
  agentId: string,
  { every = DEFAULT_EVERY, activeHours, prompt = PROMPT, session = "main", model }: HeartbeatConfig,
): NewJob {
  const { start: from = "", end: to = "", timezone } = activeHours ?? {};
  const tz = timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  return {
    agentId,
    sessionKey: session,
    times: {
      kind: "every",
      everyMs: intervalMs(every),
      from: 0,
      ...(activeHours ? { activeHours: { from, to, tz } } : {}),
    },
    missed: "skip",
    request: { prompt, heartbeat: true, ...defined({ model }) },
  };
}

/** An interval of 0, and active hours without a minute, switch it off. */
function isOn({ every = DEFAULT_EVERY, activeHours }: HeartbeatConfig): boolean {
  return intervalMs(every) > 0 && (!activeHours || activeHours.start !== activeHours.end);
}

function heartbeatsOf({ agents = {} }: PagurusConfig): Map<string, NewJob> {
  const ids = [DEFAULT_AGENT_ID, ...(agents.list ?? []).map(({ id }) => id.toLowerCase())];
  const jobs = new Map<string, NewJob>();
  for (const id of new Set(ids)) {
    const own = agents.list?.find((entry) => entry.id.toLowerCase() === id)?.heartbeat;
    // The defaults' is that of the main agent alone: one heartbeat an agent is asked for by name.
    const heartbeat = own ?? (id === DEFAULT_AGENT_ID ? agents.defaults?.heartbeat : undefined);
    if (heartbeat && isOn(heartbeat)) jobs.set(`${HEARTBEAT_PREFIX}${id}`, jobOf(id, heartbeat));
  }
  return jobs;
}

/** Makes the jobs fit the configuration; an unchanged one keeps its due time. Throws `usage_invalid` for a zone that is unknown. */
export async function syncHeartbeats(jobs: Jobs, config: PagurusConfig): Promise<void> {
  const wanted = heartbeatsOf(config);
  for (const known of (await jobs.list()).filter(({ id }) => id.startsWith(HEARTBEAT_PREFIX))) {
    const job = wanted.get(known.id);
    if (job && isSame(job, known)) wanted.delete(known.id);
    else await removed(jobs, known.id);
  }
  for (const [id, job] of wanted) await jobs.add(job, id);
}

/** Another host that shares the jobs may have done it in this moment. */
async function removed(jobs: Jobs, id: string): Promise<void> {
  try {
    await jobs.remove(id);
  } catch (error) {
    if (!isPagurusError(error) || error.code !== "job_not_found") throw error;
  }
}

function isSame(one: NewJob, other: NewJob): boolean {
  const shown = ({ agentId, sessionKey, times, missed, request }: NewJob): string =>
    JSON.stringify([agentId, sessionKey, times, missed, request]);
  return shown(one) === shown(other);
}
