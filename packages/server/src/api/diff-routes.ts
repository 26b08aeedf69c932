/** What changed between two requests of a session. */
import * as z from "zod";
import { requestDiff } from "@pagurus/host/command/receipt-diff";
import { receiptDiff } from "@pagurus/api/answers";
import { AGENT, route, SESSION, type ApiRoute } from "./route.ts";
import { defined } from "@pagurus/core/data/defined";

const NAME = "turn (its last request) or turn:request";

export const diffRoutes: readonly ApiRoute[] = [
  route({
    method: "get",
    path: "/sessions/{key}/diff",
    summary: "What changed between two model requests, by default the last two",
    scope: "read",
    params: SESSION,
    query: {
      ...AGENT,
      from: z
        .string()
        .min(1)
        .optional()
        .describe(`Earlier ${NAME}; default: the request before the later one.`),
      to: z.string().min(1).optional().describe(`Later ${NAME}; default: the newest request.`),
    },
    answer: receiptDiff,
    handle: async ({ params, query, parts }) => {
      const { agent, from, to } = query;
      const names = defined({ from, to });
      const where = { sessionKey: params.key, agentId: agent };
      return { body: await requestDiff(parts.pagurus, where, names) };
    },
  }),
];
