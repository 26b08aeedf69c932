/** The host: status, receipts and previews of contexts, tokens, sign-in of the user's browser. */
import * as z from "zod";
import { agentIds } from "@pagurus/core/config/agent-settings";
import { loadFor } from "@pagurus/core/config/load-config";
import type { Work } from "@pagurus/inbox/work";
import { allowsAgent, beyond } from "@pagurus/core/authority/authority";
import { PERMISSION_MODES, SCOPES } from "@pagurus/contract/host/authority";
import type { NewToken } from "../access/tokens.ts";
import * as answers from "@pagurus/api/answers";
import { AGENT, CWD, route, SESSION, type ApiRoute } from "./route.ts";

const tokenLimits = {
  scope: z.enum(SCOPES),
  sessions: z.string().min(1).describe("Pattern of session keys, with * for any characters."),
  agents: z.string().min(1).describe("Pattern of agent ids, with * for any characters."),
  folders: z
    .union([z.literal("any"), z.array(z.string().min(1)).max(100)])
    .describe("Absolute folders that it may name beside those of its sessions and agents."),
  mode: z
    .enum(PERMISSION_MODES)
    .describe("Most permissive mode of its turns; the configured one is a second limit."),
  mayStartPrograms: z.boolean().describe("May name programs that the host starts, such as a job's command."),
  mayRemember: z.boolean().describe("May answer a permission question with a rule that is saved."),
};

export const token = z.object({
  id: z.string(),
  name: z.string(),
  ...tokenLimits,
  parent: z.string().optional().describe("Id of the token that created it; absent for one of the owner."),
  createdAt: z.int(),
  expiresAt: z.int().optional(),
  revokedAt: z.int().optional(),
  usedAt: z.int().optional(),
});

export const newToken = z.strictObject({
  name: z.string().min(1).max(100),
  ...z.object(tokenLimits).partial().shape,
  scope: z.enum(SCOPES).default("chat"),
  sessions: tokenLimits.sessions.default("*"),
  expiresAt: z.int().positive().optional().describe("Milliseconds since the epoch."),
});

export const serverStatus = z.object({
  version: z.string(),
  pid: z.int(),
  url: z.string(),
  home: z.string(),
  startedAt: z.iso.datetime(),
  running: z.array(z.object({ work: z.string(), session: z.string(), agent: z.string() })),
  waiting: z.int(),
  approvals: z.int(),
  streams: z.int(),
  lastEvent: z.int().describe("Id of the newest event, to follow what comes after it."),
  scope: z.enum(SCOPES).describe("What the caller may do."),
});

function presentRunning({ id, sessionKey, agentId }: Work): object {
  return { work: id, session: sessionKey, agent: agentId };
}

export const hostRoutes: readonly ApiRoute[] = [
  route({
    method: "get",
    path: "/status",
    summary: "The server, and what runs and waits in sessions that the token may see",
    scope: "read",
    answer: serverStatus,
    handle: async ({ caller, parts }) => {
      const { facts, inbox, approvals, streams, events } = parts;
      const open = await inbox.open();
      return {
        body: {
          ...facts,
          running: inbox.running().map(presentRunning),
          waiting: open.filter(({ state }) => state === "waiting").length,
          approvals: (await approvals.open()).length,
          streams: streams.count,
          lastEvent: await events.newest(),
          scope: caller.scope,
        },
      };
    },
  }),
  route({
    method: "get",
    path: "/agents",
    summary: "Agents of the configuration; main is always one",
    scope: "read",
    answer: z.object({ agents: z.array(z.string()) }),
    handle: ({ caller, parts }) => {
      const { config } = loadFor({ onlyLook: true }, parts.facts.home);
      return { body: { agents: agentIds(config).filter((id) => allowsAgent(caller, id)) } };
    },
  }),
  route({
    method: "get",
    path: "/sessions/{key}/status",
    summary: "The report of pagurus status for a session",
    scope: "read",
    params: SESSION,
    query: { ...AGENT, ...CWD },
    answer: answers.anything,
    handle: async ({ params, query, parts }) => ({
      body: await parts.pagurus.status({
        sessionKey: params.key,
        agentId: query.agent,
        ...(query.cwd === undefined ? {} : { cwd: query.cwd }),
      }),
    }),
  }),
  route({
    method: "get",
    path: "/sessions/{key}/receipts",
    summary: "Receipts of a turn's model requests, oldest first",
    scope: "read",
    params: SESSION,
    query: { ...AGENT, turn: z.string().optional().describe("Id of the turn; default: the newest.") },
    answer: z.object({ receipts: z.array(answers.anything) }),
    handle: async ({ params, query, parts }) => ({
      body: {
        receipts: await parts.pagurus.context.receipts({
          sessionKey: params.key,
          agentId: query.agent,
          ...(query.turn === undefined ? {} : { turnId: query.turn }),
        }),
      },
    }),
  }),
  route({
    method: "post",
    path: "/sessions/{key}/preview",
    summary: "The context that would be sent for a prompt; nothing is sent or stored",
    scope: "read",
    params: SESSION,
    query: AGENT,
    body: z
      .strictObject({
        prompt: z.string().default(""),
        budget: z.int().positive().optional(),
        exact: z.boolean().optional().describe("Also count the tokens exactly; slow on large contexts."),
        ...CWD,
      })
      .default({ prompt: "" }),
    answer: answers.anything,
    handle: async ({ params, query, body, parts }) => ({
      body: await parts.pagurus.context.preview({
        sessionKey: params.key,
        agentId: query.agent,
        prompt: body.prompt,
        ...(body.budget === undefined ? {} : { budget: body.budget }),
        ...(body.exact === undefined ? {} : { exact: body.exact }),
        ...(body.cwd === undefined ? {} : { cwd: body.cwd }),
      }),
    }),
  }),
  route({
    method: "get",
    path: "/tokens",
    summary: "Tokens, without their secrets",
    scope: "admin",
    answer: z.object({ tokens: z.array(token) }),
    handle: async ({ parts }) => ({ body: { tokens: await parts.tokens.list() } }),
  }),
  route({
    method: "post",
    path: "/tokens",
    summary: "Create a token; its secret is only in this answer",
    scope: "admin",
    body: newToken,
    answer: z.object({ token, secret: z.string() }),
    status: 201,
    handle: async ({ body, parts }) => ({ body: await parts.tokens.create(body as NewToken) }),
  }),
  route({
    method: "delete",
    path: "/tokens/{id}",
    summary: "Revoke the token with this id or name; its open streams end",
    scope: "admin",
    params: { id: z.string().min(1) },
    answer: z.object({ revoked: z.array(token) }),
    handle: async ({ params, parts }) => ({ body: { revoked: await parts.tokens.revoke(params.id) } }),
  }),
  route({
    method: "post",
    path: "/browser-codes",
    summary: "A code that signs in the user's browser once, within a minute",
    scope: "admin",
    body: z
      .strictObject({
        scope: z.enum(SCOPES).default("chat"),
        session: z
          .strictObject({ key: z.string().min(1), agent: AGENT.agent })
          .optional()
          .describe("The session that the browser opens with."),
      })
      .default({ scope: "chat" }),
    answer: z.object({ url: z.string() }),
    status: 201,
    handle: ({ body, caller, parts }) => {
      if (caller.door !== "owner") throw beyond("sign in a browser", "run pagurus open on this machine");
      return { body: { url: parts.logins.address(parts.facts.url, body.scope, body.session) } };
    },
  }),
];
