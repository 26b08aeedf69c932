/** What a session's requests took, for a list of sessions. */
import * as z from "zod";
import { found } from "./session-routes.ts";
import { AGENT, route, SESSION, type ApiRoute } from "./route.ts";

export const usage = z.object({
  requests: z.int(),
  inputTokens: z.int().describe("As the providers reported them, with those from a cache."),
  cachedTokens: z.int().describe("Of the input."),
  outputTokens: z.int(),
  cost: z.number().optional().describe("US dollars; absent where no price is known."),
  model: z.string().optional().describe("Of the newest request that was a turn's own."),
  runtime: z.string().optional(),
});

export const usageRoutes: readonly ApiRoute[] = [
  route({
    method: "get",
    path: "/sessions/{key}/usage",
    summary: "Requests, tokens and cost of a session's current generation",
    scope: "read",
    params: SESSION,
    query: AGENT,
    answer: usage,
    handle: async ({ params, query, parts }) => ({
      body: await parts.usages.of(found(parts.pagurus.sessions(query.agent), params.key)),
    }),
  }),
];
