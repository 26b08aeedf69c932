/** Events as server-sent events with ids, and the permission questions among them. */
import * as z from "zod";
import { PagurusError } from "@pagurus/contract/errors";
import type { PermissionAnswer } from "@pagurus/contract/host/run";
import type { EventFilter, StoredEvent } from "@pagurus/inbox/event-log";
import type { Caller } from "../access/caller.ts";
import type { CallerParts } from "../caller/caller-parts.ts";
import type { ServerSentEvent } from "../open-streams.ts";
import * as answers from "@pagurus/api/answers";
import { presentApproval } from "./present.ts";
import { AGENT, route, SESSION, type ApiAnswer, type ApiRoute } from "./route.ts";

const AFTER = {
  after: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe("Id of the last event that the client has; the header Last-Event-ID has precedence."),
  until: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe(
      "Id of the last event that is wanted, which the server has already: the stream ends there, with `events.until`.",
    ),
};

/** The event that ends a stream which has all that was asked for. */
const UNTIL = "events.until";

interface Followed {
  parts: CallerParts;
  caller: Caller;
  filter: EventFilter;
  after: number;
  until: number | undefined;
  /** The last event that is sent. */
  isLast?: (event: StoredEvent) => boolean;
}

function sent({ seq, workId, agentId, sessionKey, type, data }: StoredEvent): ServerSentEvent {
  return { id: seq, type, data: { type, work: workId, agent: agentId, session: sessionKey, ...data } };
}

function eventAnswer({ parts, caller, filter, after, until, isLast }: Followed): ApiAnswer<never> {
  parts.events.check(filter);
  async function* source(signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
    const found =
      until === undefined
        ? parts.events.follow(after, filter, signal)
        : parts.events.between(after, until, filter);
    for await (const event of found) {
      if (signal.aborted) return;
      yield sent(event);
      if (isLast?.(event) === true) return;
    }
    // A stream that ends without it was cut off.
    if (until !== undefined) yield { id: until, type: UNTIL, data: { type: UNTIL } };
  }
  return { stream: (out) => parts.streams.serve(caller, out, source) };
}

/** Id of the last event that the client has. Throws `usage_invalid`. */
function lastId(header: string | undefined, query: number | undefined): number | undefined {
  if (header === undefined || header === "") return query;
  const id = Number(header);
  if (Number.isSafeInteger(id) && id >= 0) return id;
  throw new PagurusError(
    "usage_invalid",
    `The header Last-Event-ID is ${JSON.stringify(header)}; send an event's id.`,
  );
}

const STREAM = {
  method: "get",
  scope: "read",
  answer: z
    .string()
    .describe(
      "Server-sent events; each has an id, a type, and JSON data. Among them `model.fallback`, with data as in ModelFallback.",
    ),
  answerType: "text/event-stream",
} as const;

function answerOf({
  answer,
  reason,
  content,
}: {
  answer: Extract<PermissionAnswer, string>;
  reason?: string | undefined;
  content?: Record<string, unknown> | undefined;
}): PermissionAnswer {
  if (answer === "deny" && reason !== undefined) return { deny: reason };
  return answer === "once" && content ? { content } : answer;
}

export const eventRoutes: readonly ApiRoute[] = [
  route({
    ...STREAM,
    path: "/events",
    summary: "Events of every session that the token may see, from now or after an id",
    query: AFTER,
    handle: async ({ query, caller, parts, header }) => {
      const after = lastId(header("last-event-id"), query.after) ?? (await parts.events.newest());
      return eventAnswer({ parts, caller, filter: {}, after, until: query.until });
    },
  }),
  route({
    ...STREAM,
    path: "/sessions/{key}/events",
    summary: "Events of a session, from now or after an id",
    params: SESSION,
    query: { ...AGENT, ...AFTER },
    handle: async ({ params, query, caller, parts, header }) => {
      const after = lastId(header("last-event-id"), query.after) ?? (await parts.events.newest());
      const filter = { agentId: query.agent, sessionKey: params.key };
      return eventAnswer({ parts, caller, filter, after, until: query.until });
    },
  }),
  route({
    ...STREAM,
    path: "/work/{id}/events",
    summary: "Events of one piece of work, from its beginning or after an id, to its end",
    params: { id: z.string().min(1) },
    query: AFTER,
    handle: async ({ params, query, caller, parts, header }) => {
      const work = await parts.inbox.get(params.id);
      const after = lastId(header("last-event-id"), query.after) ?? 0;
      const isLast = ({ type }: StoredEvent): boolean => type === "work.ended";
      const { until } = query;
      if (
        until !== undefined ||
        work.state !== "ended" ||
        (await parts.events.after(after, { workId: work.id })).length > 0
      )
        return eventAnswer({ parts, caller, filter: { workId: work.id }, after, until, isLast });
      return { stream: (out) => parts.streams.serve(caller, out, async function* nothing() {}) };
    },
  }),
  route({
    method: "get",
    path: "/approvals",
    summary: "Permission questions that wait for an answer",
    scope: "read",
    answer: z.object({ approvals: z.array(answers.approval) }),
    handle: async ({ parts }) => ({
      body: { approvals: (await parts.approvals.open()).map(presentApproval) },
    }),
  }),
  route({
    method: "post",
    path: "/approvals/{id}",
    summary: "Answer a permission question; the first answer counts",
    scope: "chat",
    params: { id: z.string().min(1) },
    body: z.strictObject({
      answer: z
        .enum(["once", "always", "similar", "deny", "unasked"])
        .describe("unasked: as deny, and the model learns that there was no person to ask."),
      content: z
        .record(z.string(), z.unknown())
        .optional()
        .describe("With once: values for the question's form; what is left out has its default."),
      reason: z.string().min(1).optional().describe("With deny: what the model gets as the reason."),
    }),
    answer: z.object({ answered: z.boolean().describe("False where it was answered before.") }),
    handle: async ({ params, body, parts }) => {
      return { body: { answered: await parts.approvals.answer(params.id, answerOf(body)) } };
    },
  }),
];
