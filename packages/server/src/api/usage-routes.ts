/** What a session's requests took, for a list of sessions. */
import { usage } from "@pagurus/api/inspect-answers";
import { found } from "./session-routes.ts";
import { AGENT, route, SESSION, type ApiRoute } from "./route.ts";

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
