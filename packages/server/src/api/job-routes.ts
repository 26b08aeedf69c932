/** Jobs: prompts at set times. */
import * as z from "zod";
import type * as api from "@pagurus/api/types";
import { newJob } from "@pagurus/api/bodies";
import { job } from "@pagurus/api/answers";
import type { Job } from "@pagurus/inbox/schedule/job";
import { route, type ApiRoute } from "./route.ts";
import { defined } from "@pagurus/core/data/defined";

function iso(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}

function present({ id, agentId, sessionKey, request, isPaused, nextAt, lastAt, ...rest }: Job): api.Job {
  const { times: when, missed, check: looked, lastOutcome } = rest;
  const { prompt, model } = request;
  return {
    id,
    agent: agentId,
    session: sessionKey,
    prompt,
    model,
    times: when,
    missed,
    check: looked,
    paused: isPaused,
    nextAt: iso(nextAt),
    lastAt: iso(lastAt),
    lastOutcome,
  };
}

const ID = { id: z.string().min(1) };

/** Changes need the scope admin: a job can run a command of the server's user. */
export const jobRoutes: readonly ApiRoute[] = [
  route({
    method: "get",
    path: "/jobs",
    summary: "Jobs, the next one first",
    scope: "admin",
    answer: z.object({ jobs: z.array(job) }),
    handle: async ({ parts }) => ({ body: { jobs: (await parts.jobs.list()).map(present) } }),
  }),
  route({
    method: "get",
    path: "/jobs/{id}",
    summary: "One job",
    scope: "admin",
    params: ID,
    answer: job,
    handle: async ({ params, parts }) => ({ body: present(await parts.jobs.get(params.id)) }),
  }),
  route({
    method: "post",
    path: "/jobs",
    summary: "Create a job",
    scope: "admin",
    body: newJob,
    answer: job,
    status: 201,
    handle: async ({ body, parts }) => {
      const { prompt, session, agent, model, cwd, times: when, missed, check: looked } = body;
      // Throws for an unknown agent and for a key that no session can have: its runs would only fail.
      parts.pagurus.sessions(agent).find(session);
      await parts.pagurus.checkInput({ prompt, agentId: agent, ...defined({ model }) });
      const made = await parts.jobs.add({
        agentId: agent,
        sessionKey: session,
        times: when.kind === "every" ? { ...when, from: Date.now() } : when,
        missed: missed ?? (when.kind === "at" ? "once" : "skip"),
        request: {
          prompt,
          ...defined({ model, cwd }),
        },
        check: looked,
      });
      return { body: present(made) };
    },
  }),
  ...(["pause", "resume", "run"] as const).map((action) =>
    route({
      method: "post",
      path: `/jobs/{id}/${action}`,
      summary: `${action === "run" ? "Run a job now" : `${action[0]?.toUpperCase()}${action.slice(1)} a job`}`,
      scope: "admin",
      params: ID,
      answer: job,
      handle: async ({ params, parts }) => {
        const { jobs } = parts;
        if (action === "run") return { body: present(await jobs.runNow(params.id)) };
        return { body: present(await jobs[action](params.id)) };
      },
    }),
  ),
  route({
    method: "delete",
    path: "/jobs/{id}",
    summary: "Remove a job; what it has posted stays in the inbox",
    scope: "admin",
    params: ID,
    answer: z.object({ removed: z.string() }),
    handle: async ({ params, parts }) => {
      await parts.jobs.remove(params.id);
      return { body: { removed: params.id } };
    },
  }),
];
