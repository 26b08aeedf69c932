/** The host: status, receipts and previews of contexts, tokens, sign-in of the user's browser. */
import * as z from "zod";
import { agentIds } from "@pagurus/core/config/agent-settings";
import { loadFor } from "@pagurus/core/config/load-config";
import type { ServerStatus } from "@pagurus/api/types";
import type { Work } from "@pagurus/inbox/work";
import { allowsAgent, beyond } from "@pagurus/core/authority/authority";
import { SCOPES } from "@pagurus/contract/host/authority";
import type { NewToken } from "../access/tokens.ts";
import * as answers from "@pagurus/api/answers";
import { newToken } from "@pagurus/api/bodies";
import { AGENT, CWD, route, SESSION, type ApiRoute } from "./route.ts";
import { defined } from "@pagurus/core/data/defined";

function presentRunning({ id, sessionKey, agentId }: Work): ServerStatus["running"][number] {
  return { work: id, session: sessionKey, agent: agentId };
}

export const hostRoutes: readonly ApiRoute[] = [
  route({
    method: "get",
    path: "/status",
    summary: "The server, and what runs and waits in sessions that the token may see",
    scope: "read",
    answer: answers.serverStatus,
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
    query: {
      ...AGENT,
      ...CWD,
      model: z.string().optional().describe("Model ref of the next turn; default: the configured one."),
      runtime: z.string().optional().describe("Runtime of the next turn."),
    },
    answer: answers.anything,
    handle: async ({ params, query, parts }) => ({
      body: await parts.pagurus.status({
        sessionKey: params.key,
        agentId: query.agent,
        model: query.model,
        runtime: query.runtime,
        ...defined({ cwd: query.cwd }),
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
          ...defined({ turnId: query.turn }),
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
        ...defined({ budget: body.budget, exact: body.exact, cwd: body.cwd }),
      }),
    }),
  }),
  route({
    method: "get",
    path: "/tokens",
    summary: "Tokens, without their secrets",
    scope: "admin",
    answer: z.object({ tokens: z.array(answers.token) }),
    handle: async ({ parts }) => ({ body: { tokens: await parts.tokens.list() } }),
  }),
  route({
    method: "post",
    path: "/tokens",
    summary: "Create a token; its secret is only in this answer",
    scope: "admin",
    body: newToken,
    answer: z.object({ token: answers.token, secret: z.string() }),
    status: 201,
    handle: async ({ body, parts }) => ({ body: await parts.tokens.create(body as NewToken) }),
  }),
  route({
    method: "delete",
    path: "/tokens/{id}",
    summary: "Revoke the token with this id or name; its open streams end",
    scope: "admin",
    params: { id: z.string().min(1) },
    answer: z.object({ revoked: z.array(answers.token) }),
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
