/** Turns: post into the inbox, steer, stop, look up, withdraw; compactions. */
import * as z from "zod";
import type { TurnWork, WorkPlace } from "@pagurus/inbox/work";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import type { CallerParts } from "../caller/caller-parts.ts";
import * as answers from "@pagurus/api/answers";
import { turnBody } from "@pagurus/api/bodies";
import { idempotencyKey, postWork } from "./post-work.ts";
import { presentWork } from "./present.ts";
import { AGENT, CWD, PAGE, route, SESSION, type ApiRoute } from "./route.ts";
import { defined } from "@pagurus/core/data/defined";

/** Whether another host that shares the inbox runs a turn of the session. */
async function runsElsewhere({ inbox }: CallerParts, place: WorkPlace): Promise<boolean> {
  const open = await inbox.open(place);
  return open.some(({ kind, state }) => kind === "turn" && state === "running");
}

/** Pieces of open work in one answer. */
const MOST_OPEN = 200;

const WORK = { id: z.string().min(1) };

export const turnRoutes: readonly ApiRoute[] = [
  route({
    method: "post",
    path: "/sessions/{key}/turns",
    summary: "Post a turn; it is on disk when this answers",
    scope: "chat",
    params: SESSION,
    query: AGENT,
    body: turnBody,
    answer: answers.work,
    status: 202,
    handle: ({ params, query, body, parts, header }) => {
      const { policy, ...request } = body;
      if (request.prompt.trim() === "" && (request.parts ?? []).length === 0)
        throw new PagurusError("usage_invalid", "The prompt is empty; give a text or a part.");
      return postWork(parts, {
        agentId: query.agent,
        sessionKey: params.key,
        kind: "turn",
        request: withoutUndefined(request),
        policy,
        origin: "api",
        idempotencyKey: idempotencyKey(header("idempotency-key")),
      });
    },
  }),
  route({
    method: "post",
    path: "/sessions/{key}/compact",
    summary: "Compact the context, after the work before it",
    scope: "chat",
    params: SESSION,
    query: AGENT,
    body: z.strictObject({ focus: z.string().optional(), ...CWD }).default({}),
    answer: answers.work,
    status: 202,
    handle: ({ params, query, body, parts, header }) =>
      postWork(parts, {
        agentId: query.agent,
        sessionKey: params.key,
        kind: "compaction",
        request: {
          ...defined({ focus: body.focus, cwd: body.cwd }),
        },
        policy: "queue",
        origin: "api",
        idempotencyKey: idempotencyKey(header("idempotency-key")),
      }),
  }),
  route({
    method: "get",
    path: "/sessions/{key}/work",
    summary: "Work of a session, the newest first",
    scope: "read",
    params: SESSION,
    query: { ...AGENT, ...PAGE },
    answer: z.object({ work: z.array(answers.work) }),
    handle: async ({ params, query, parts }) => {
      const place = { agentId: query.agent, sessionKey: params.key };
      const all = await parts.inbox.ofSession(place, query.limit);
      return { body: { work: await Promise.all(all.map((work) => presentWork(parts.inbox, work))) } };
    },
  }),
  route({
    method: "get",
    path: "/work",
    summary: "Work that has not ended, oldest first",
    scope: "read",
    answer: z.object({ work: z.array(answers.work) }),
    handle: async ({ parts: { inbox } }) => {
      const open = (await inbox.open()).slice(0, MOST_OPEN);
      return { body: { work: await Promise.all(open.map((each) => presentWork(inbox, each))) } };
    },
  }),
  route({
    method: "get",
    path: "/work/{id}",
    summary: "One piece of work",
    scope: "read",
    params: WORK,
    answer: answers.work,
    handle: async ({ params, parts }) => ({
      body: await presentWork(parts.inbox, await parts.inbox.get(params.id)),
    }),
  }),
  route({
    method: "delete",
    path: "/work/{id}",
    summary: "Take waiting work out of the inbox, or text out of the turn that has not taken it yet",
    scope: "chat",
    params: WORK,
    answer: answers.work,
    handle: async ({ params: { id }, parts }) => {
      const { inbox } = parts;
      if (await inbox.withdraw(id)) return { body: await presentWork(inbox, await inbox.get(id)) };
      throw new PagurusError("usage_invalid", `The work ${id} has begun already; stop its session instead.`);
    },
  }),
  route({
    method: "post",
    path: "/sessions/{key}/steer",
    summary: "Add text to the turn that runs, before its next model call",
    scope: "chat",
    params: SESSION,
    query: AGENT,
    body: z.strictObject({ text: z.string().min(1) }),
    answer: z.object({ steered: z.literal(true) }),
    handle: async ({ params, query, body, parts }) => {
      const place = { agentId: query.agent, sessionKey: params.key };
      try {
        await parts.pagurus.running.steer({ text: body.text, ...place });
        return { body: { steered: true as const } };
      } catch (error) {
        if (!isPagurusError(error) || error.code !== "turn_not_running") throw error;
        if (!(await runsElsewhere(parts, place))) throw error;
      }
      const request = { prompt: body.text };
      const sent = {
        kind: "turn",
        request,
        policy: "steer",
        origin: "api",
      } as const;
      const { work } = await parts.inbox.post({ ...place, ...sent });
      return { body: { steered: true as const }, workId: work.id };
    },
  }),
  route({
    method: "post",
    path: "/sessions/{key}/stop",
    summary: "End the turn that runs",
    scope: "chat",
    params: SESSION,
    query: AGENT,
    answer: z.object({ stopped: z.literal(true) }),
    handle: async ({ params, query, parts }) => {
      const place = { agentId: query.agent, sessionKey: params.key };
      if (!(await parts.inbox.stopTurn(place))) await parts.pagurus.running.stop(place);
      return { body: { stopped: true as const } };
    },
  }),
];

function withoutUndefined(body: Omit<z.infer<typeof turnBody>, "policy">): TurnWork {
  return Object.fromEntries(
    Object.entries(body).filter(([, value]) => value !== undefined),
  ) as unknown as TurnWork;
}
