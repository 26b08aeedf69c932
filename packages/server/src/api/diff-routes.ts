/** What changed between two requests of a session. */
import * as z from "zod";
import { requestDiff } from "@pagurus/host/command/receipt-diff";
import * as answers from "@pagurus/api/answers";
import { AGENT, route, SESSION, type ApiRoute } from "./route.ts";

const side = z.object({ turnId: z.string(), request: z.int(), tokens: z.int() });

export const diff = z.object({
  from: side,
  to: side,
  prefixParts: z.int().describe("Leading parts that are the same in both."),
  prefixTokens: z.int(),
  unchangedParts: z.int().describe("Parts after the prefix that are the same in both."),
  changes: z.array(
    z.object({
      change: z.enum(["added", "removed", "changed"]),
      part: answers.anything.describe(
        "The later request's part of the receipt; for removed the earlier one's.",
      ),
      before: answers.anything.optional().describe("For changed: the part in the earlier request."),
    }),
  ),
});

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
    answer: diff,
    handle: async ({ params, query, parts }) => {
      const { agent, from, to } = query;
      const names = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
      const where = { sessionKey: params.key, agentId: agent };
      return { body: await requestDiff(parts.pagurus, where, names) };
    },
  }),
];
