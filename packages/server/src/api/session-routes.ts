/** Sessions: list, search, show, create, fork, rewind, export, delete, compact. */
import * as z from "zod";
import { PagurusError } from "@pagurus/contract/errors";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { Pace } from "@pagurus/core/platform/pace";
import { rewindSession } from "@pagurus/host/command/rewind";
import * as answers from "@pagurus/api/answers";
import { presentSession, presentWork } from "./present.ts";
import { AGENT, PAGE, route, SESSION, type ApiRoute } from "./route.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";
import { defined } from "@pagurus/core/data/defined";

/** Entries of the path before one, newest first, at most `limit`. */
async function entriesBefore(
  store: SessionStore,
  key: string,
  { before, limit }: { before?: string | undefined; limit: number },
): Promise<TranscriptEntry[]> {
  const reader = store.openReader(key);
  const pace = new Pace();
  try {
    const entries: TranscriptEntry[] = [];
    for await (const entry of reader.cursor.backward(before)) {
      entries.push(entry);
      if (entries.length >= limit) break;
      if (pace.due) await pace.rest();
    }
    return entries.toReversed();
  } finally {
    reader.close();
  }
}

/** Throws `session_not_found`. */
export function found(store: SessionStore, key: string): NonNullable<ReturnType<SessionStore["find"]>> {
  const record = store.find(key);
  if (record) return record;
  throw new PagurusError(
    "session_not_found",
    `There is no session ${JSON.stringify(key)}; GET /api/v1/sessions lists them.`,
  );
}

export const sessionRoutes: readonly ApiRoute[] = [
  route({
    method: "get",
    path: "/sessions",
    summary: "Sessions, last used first",
    scope: "read",
    query: {
      ...AGENT,
      ...PAGE,
      after: z.string().optional().describe("Key of the last one of the page before."),
    },
    answer: z.object({ sessions: z.array(answers.session), next: z.string().optional() }),
    handle: ({ query, parts }) => {
      const all = parts.pagurus
        .sessions(query.agent)
        .list()
        .filter(({ current }) => current);
      const from =
        query.after === undefined ? 0 : all.findIndex(({ sessionKey }) => sessionKey === query.after) + 1;
      const page = all.slice(from, from + query.limit);
      const last = page.at(-1)?.sessionKey;
      return {
        body: {
          sessions: page.map((record) => presentSession(record, query.agent)),
          ...(last !== undefined && from + query.limit < all.length ? { next: last } : {}),
        },
      };
    },
  }),
  route({
    method: "get",
    path: "/search",
    summary: "Messages with the words of a query, best first",
    scope: "read",
    query: { ...AGENT, ...PAGE, q: z.string().min(1), session: z.string().optional() },
    answer: z.object({ hits: z.array(answers.anything) }),
    handle: ({ query, parts }) => {
      const hits = parts.pagurus.sessions(query.agent).search(query.q, {
        limit: query.limit,
        ...defined({ sessionKey: query.session }),
      });
      return { body: { hits } };
    },
  }),
  route({
    method: "post",
    path: "/sessions",
    summary: "Create an empty session",
    scope: "chat",
    body: z.strictObject({
      key: z.string().min(1),
      agent: AGENT.agent,
      cwd: z.string().min(1).optional().describe("Absolute folder; default: the server's."),
    }),
    answer: answers.session,
    status: 201,
    handle: ({ body, parts }) => {
      const record = parts.pagurus
        .sessions(body.agent)
        .create(body.key, { cwd: body.cwd ?? currentFolder() });
      return { body: presentSession(record, body.agent) };
    },
  }),
  route({
    method: "get",
    path: "/sessions/{key}",
    summary: "One session, its open work and who writes to it",
    scope: "read",
    params: SESSION,
    query: AGENT,
    answer: answers.sessionDetails,
    handle: async ({ params, query, parts }) => {
      const store = parts.pagurus.sessions(query.agent);
      const record = found(store, params.key);
      const reader = store.openReader(params.key);
      const { runningIn } = reader;
      reader.close();
      const open = await parts.inbox.open({ agentId: query.agent, sessionKey: params.key });
      return {
        body: {
          ...presentSession(record, query.agent),
          work: await Promise.all(open.map((work) => presentWork(parts.inbox, work))),
          ...defined({ runningIn }),
        },
      };
    },
  }),
  route({
    method: "get",
    path: "/sessions/{key}/entries",
    summary: "Entries of the active path, a page from its end, oldest first",
    scope: "read",
    params: SESSION,
    query: {
      ...AGENT,
      ...PAGE,
      before: z.string().optional().describe("Id of the first entry of the page after."),
    },
    answer: z.object({ entries: z.array(answers.anything) }),
    handle: async ({ params, query, parts }) => {
      const store = parts.pagurus.sessions(query.agent);
      return { body: { entries: await entriesBefore(store, params.key, query) } };
    },
  }),
  route({
    method: "post",
    path: "/sessions/{key}/fork",
    summary: "Copy the path up to an entry into a new session",
    scope: "chat",
    params: SESSION,
    query: AGENT,
    body: z.strictObject({ key: z.string().min(1), entryId: z.string().optional() }),
    answer: answers.session,
    status: 201,
    handle: async ({ params, query, body, parts }) => {
      const { key, entryId } = body;
      const record = await parts.pagurus
        .sessions(query.agent)
        .fork(params.key, key, entryId === undefined ? {} : { entryId });
      return { body: presentSession(record, query.agent) };
    },
  }),
  route({
    method: "post",
    path: "/sessions/{key}/rewind",
    summary: "Move the conversation back to an entry, or before its beginning",
    scope: "chat",
    params: SESSION,
    query: AGENT,
    body: z.strictObject({ entryId: z.string().nullable() }),
    answer: answers.session,
    handle: ({ params, query, body, parts }) => {
      const store = parts.pagurus.sessions(query.agent);
      rewindSession(store, params.key, body.entryId, found(store, params.key).cwd);
      return { body: presentSession(found(store, params.key), query.agent) };
    },
  }),
  route({
    method: "get",
    path: "/sessions/{key}/export",
    summary: "The transcript, as JSON lines or as Markdown",
    scope: "read",
    params: SESSION,
    query: { ...AGENT, format: z.enum(["jsonl", "markdown"]).default("jsonl") },
    answer: z.string(),
    answerType: "application/octet-stream",
    handle: ({ params, query, parts }) => ({
      contentType: query.format === "jsonl" ? "application/x-ndjson" : "text/markdown; charset=utf-8",
      chunks: parts.pagurus.sessions(query.agent).export(params.key, query.format),
    }),
  }),
  route({
    method: "delete",
    path: "/sessions/{key}",
    summary: "Delete a session for good, with every generation and its children",
    scope: "admin",
    params: SESSION,
    query: AGENT,
    answer: z.object({ sessions: z.int(), bytes: z.int(), isResumed: z.literal(true).optional() }),
    handle: async ({ params, query, parts }) => {
      const place = { sessionKey: params.key, agentId: query.agent };
      const deleted = await parts.pagurus.deleteSession(place);
      await parts.forget(place);
      return { body: deleted };
    },
  }),
];
