/**
 * `node scripts/prove-idle-jobs.ts`: processor time of a server with 1,000 jobs that are not due, beside one without jobs, over the
 * same seconds. Ends with 1 where the jobs cost 1 % of a core or more.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { openServerDatabase } from "../packages/inbox/src/server-database.ts";
import { JobStore } from "../packages/inbox/src/schedule/job-store.ts";
import type { JobTimes } from "../packages/inbox/src/schedule/job.ts";
import { ServeProcess } from "../test/server/serve-setting.ts";
import { makeSetting, modelConfig, type Setting } from "../test/turn/setting.ts";

const JOBS = 1_000;
const MOST_PERCENT = 1;
const SETTLE_MS = 10_000;
const WINDOW_MS = 60_000;
const DAY_MS = 86_400_000;
const ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"];

/** Each kind of times; none is due within the next days. */
function timesOf(index: number): JobTimes {
  const day = new Date(Date.now() + 10 * DAY_MS);
  const kind = index % 3;
  if (kind === 0) return { kind: "at", at: day.getTime() + index * 1_000 };
  if (kind === 1) return { kind: "every", everyMs: 5 * DAY_MS, from: Date.now() };
  const expression = `${index % 60} ${index % 24} ${day.getUTCDate()} ${day.getUTCMonth() + 1} *`;
  return { kind: "cron", expression, tz: ZONES[index % ZONES.length] ?? "UTC" };
}

function addJobs({ home, workspace }: Setting): void {
  const db = openServerDatabase(home);
  const jobs = new JobStore(db);
  db.transaction(() => {
    for (let index = 0; index < JOBS; index++)
      jobs.add({
        agentId: "main",
        sessionKey: `session-${index % 50}`,
        times: timesOf(index),
        missed: "skip",
        request: { prompt: "Look around.", cwd: workspace },
        ...(index % 2 === 0 ? {} : { check: { kind: "file", path: "mail.txt" } }),
      });
  });
  db.close();
}

/** Processor time of a process and all its threads, ms. */
function processorMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = threads.map((id) =>
    Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8").split(" ")[0]),
  );
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e6;
}

const config = modelConfig("openai-completions", "http://127.0.0.1:9");
const settings = [makeSetting(config), makeSetting(config)] as const;
addJobs(settings[1]);
const servers: ServeProcess[] = [];
try {
  for (const setting of settings) servers.push(await ServeProcess.start(setting));
  const [, busy] = servers;
  const { body } = (await busy?.call("GET", "/api/v1/jobs")) ?? {};
  const known = (body?.["jobs"] as unknown[] | undefined)?.length;
  if (known !== JOBS) throw new Error(`The server knows ${known} jobs.`);
  await pause(SETTLE_MS);
  const pids = servers.map(({ child }) => child.pid ?? 0);
  const before = pids.map(processorMs);
  const from = performance.now();
  await pause(WINDOW_MS);
  const ms = performance.now() - from;
  const percents = pids.map((pid, index) => ((processorMs(pid) - (before[index] ?? 0)) / ms) * 100);
  const [without = NaN, withJobs = NaN] = percents;
  const more = withJobs - without;
  console.log(`idle server without jobs: ${without.toFixed(2)} % of a core over ${Math.round(ms / 1_000)} s`);
  console.log(`idle server with ${JOBS} jobs: ${withJobs.toFixed(2)} %`);
  console.log(`the jobs: ${more.toFixed(2)} % (target: below ${MOST_PERCENT} %)`);
  process.exitCode = more < MOST_PERCENT ? 0 : 1;
} finally {
  for (const server of servers) await server.kill();
  for (const setting of settings) setting.remove();
}
