/** What the command line needs besides: which conversation it gets, records and state of transcripts, `/new`, stopping one turn. */
import * as z from "zod";
import type { Claimed } from "@pagurus/api/types";
import type { CallerParts } from "../caller/caller-parts.ts";
import * as answers from "@pagurus/api/answers";
import { presentSession, presentWork } from "./present.ts";
import { AGENT, CWD, route, SESSION, type ApiRoute } from "./route.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";
import { defined } from "@pagurus/core/data/defined";

interface ClaimBody {
  agent: string;
  session?: string | undefined;
  cwd?: string | undefined;
  how: "continue" | "last" | "new";
}

/** A session that this server works in is queued, so it is no claim. Any other one is refused or replaced as in a terminal. */
async function claimed(parts: CallerParts, body: ClaimBody): Promise<Claimed> {
  const { agent: agentId, session: sessionKey, cwd, how } = body;
  const { pagurus, inbox } = parts;
  const store = pagurus.sessions(agentId);
  const key = sessionKey ?? (how === "new" ? undefined : pagurus.sessionKey({ agentId, cwd }));
  if (key !== undefined && (await inbox.open({ agentId, sessionKey: key })).length > 0) {
    const record = store.find(key);
    return { key, ...defined({ record }), ...folderOf(sessionKey, record?.folder) };
  }
  const held = await pagurus.claim({ agentId, sessionKey, cwd, how });
  try {
    const { folder, insteadOf } = held;
    // It keeps its key and folder until its first turn, also when other clients begin one meanwhile.
    const record =
      held.record ??
      (folder === undefined
        ? undefined
        : store.create(held.sessionKey, { cwd: cwd ?? currentFolder(), folder }));
    return {
      key: held.sessionKey,
      ...defined({ record }),
      ...folderOf(sessionKey, folder),
      ...defined({ insteadOf }),
    };
  } finally {
    held.release();
  }
}

function folderOf(named: string | undefined, folder: string | undefined): { folder?: string } {
  return named !== undefined || folder === undefined ? {} : { folder };
}

function placeOf({ agent, cwd }: { agent: string; cwd?: string | undefined }): {
  agentId: string;
  cwd?: string;
} {
  return { agentId: agent, ...defined({ cwd }) };
}

export const terminalRoutes: readonly ApiRoute[] = [
  route({
    method: "get",
    path: "/session-key",
    summary: "Key of a folder's last conversation, or the one that its first would get",
    scope: "read",
    query: { ...AGENT, ...CWD },
    answer: z.object({ key: z.string() }),
    handle: ({ query, parts }) => ({
      body: { key: parts.pagurus.sessionKey({ agentId: query.agent, cwd: query.cwd }) },
    }),
  }),
  route({
    method: "post",
    path: "/claims",
    summary: "Choose the conversation for a client's turns: a named one, the folder's last, or a new one",
    scope: "chat",
    body: z.strictObject({
      agent: AGENT.agent,
      session: z.string().min(1).optional(),
      ...CWD,
      how: z.enum(["continue", "last", "new"]).default("continue"),
    }),
    answer: answers.claim,
    handle: async ({ body, parts }) => ({ body: await claimed(parts, body) }),
  }),
  route({
    method: "get",
    path: "/records",
    summary: "Records of sessions with every generation, last used first",
    scope: "read",
    query: {
      ...AGENT,
      key: z.string().optional().describe("Only the current generation of this key."),
      folder: z.string().optional().describe("Only conversations whose keys were made for this folder."),
    },
    answer: z.object({ records: z.array(answers.record) }),
    handle: ({ query, parts }) => {
      const store = parts.pagurus.sessions(query.agent);
      const one = query.key === undefined ? undefined : store.find(query.key);
      const all =
        query.key !== undefined
          ? one
            ? [one]
            : []
          : query.folder === undefined
            ? store.list()
            : store.inFolder(query.folder);
      return { body: { records: all } };
    },
  }),
  route({
    method: "get",
    path: "/sessions/{key}/state",
    summary: "State of the transcript: its leaf, what opening it found, turns that were cut off",
    scope: "read",
    params: SESSION,
    query: { ...AGENT, id: z.string().optional().describe("Id of a generation; default: the current one.") },
    answer: answers.transcriptState,
    handle: ({ params, query, parts }) => {
      const reader = parts.pagurus.sessions(query.agent).openReader(params.key, query.id);
      try {
        const { record, leafId, notices, runningIn } = reader;
        const interruptedTurns = reader.interruptedTurns();
        return { body: { record, leafId, notices, interruptedTurns, ...defined({ runningIn }) } };
      } finally {
        reader.close();
      }
    },
  }),
  route({
    method: "post",
    path: "/sessions/{key}/renew",
    summary: "Begin a new empty generation of the session",
    scope: "chat",
    params: SESSION,
    query: AGENT,
    body: z
      .strictObject({ reason: z.enum(["new", "reset"]).default("new"), ...CWD })
      .default({ reason: "new" }),
    answer: answers.session,
    handle: async ({ params, query, body, parts }) => {
      const { cwd } = body;
      const place = { agentId: query.agent, sessionKey: params.key, reason: body.reason };
      const record = await parts.pagurus.renew({ ...place, ...defined({ cwd }) });
      return { body: presentSession(record, query.agent) };
    },
  }),
  route({
    method: "get",
    path: "/command-files",
    summary: "Custom slash commands of a folder and of the user",
    scope: "read",
    query: { ...AGENT, ...CWD },
    answer: answers.anything,
    handle: async ({ query, parts }) => ({ body: await parts.pagurus.customCommands.list(placeOf(query)) }),
  }),
  route({
    method: "post",
    path: "/command-files/expand",
    summary: "The prompt of a custom slash command; none where no file of this name is offered",
    scope: "chat",
    body: z.strictObject({
      agent: AGENT.agent,
      ...CWD,
      name: z.string().min(1),
      args: z.string().optional(),
    }),
    answer: z.object({ expanded: z.object({ prompt: z.string(), model: z.string().optional() }).optional() }),
    handle: async ({ body, parts }) => {
      const { name, args } = body;
      const asked = { ...placeOf(body), name, ...defined({ args }) };
      const expanded = await parts.pagurus.customCommands.expand(asked);
      return { body: expanded ? { expanded } : {} };
    },
  }),
  route({
    method: "post",
    path: "/work/{id}/stop",
    summary: "End one piece of work: withdrawn where it waits, aborted where it runs",
    scope: "chat",
    params: { id: z.string().min(1) },
    answer: answers.work,
    handle: async ({ params: { id }, parts: { inbox } }) => {
      await inbox.stop(id);
      return { body: await presentWork(inbox, await inbox.get(id)) };
    },
  }),
];
