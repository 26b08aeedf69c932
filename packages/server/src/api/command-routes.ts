/** Commands of plugins: listed, and run as work of a session. */
import * as z from "zod";
import { PagurusError } from "@pagurus/contract/errors";
import * as answers from "@pagurus/api/answers";
import { idempotencyKey, postWork } from "./post-work.ts";
import { AGENT, CWD, route, SESSION, type ApiRoute } from "./route.ts";
import { defined } from "@pagurus/core/data/defined";

export const commandRoutes: readonly ApiRoute[] = [
  route({
    method: "get",
    path: "/commands",
    summary: "Commands of plugins",
    scope: "read",
    answer: z.object({ commands: z.array(answers.command) }),
    handle: ({ parts }) => ({ body: { commands: parts.pagurus.commands() } }),
  }),
  route({
    method: "post",
    path: "/sessions/{key}/commands",
    summary: "Run a command of a plugin, after the work before it; its text is the event command.output",
    scope: "chat",
    params: SESSION,
    query: AGENT,
    body: z.strictObject({
      name: z.string().min(1).describe("Name or alias, without the slash."),
      args: z.string().optional(),
      ...CWD,
    }),
    answer: answers.work,
    status: 202,
    handle: ({ params, query, body, parts, header }) => {
      const { name, args, cwd } = body;
      // Before the list of commands is looked at.
      parts.pagurus.check.command({
        name,
        sessionKey: params.key,
        agentId: query.agent,
        ...defined({ cwd }),
      });
      const known = parts.pagurus
        .commands()
        .some((each) => each.name === name || each.aliases?.includes(name) === true);
      if (!known)
        throw new PagurusError(
          "usage_invalid",
          `No plugin has a command /${name}; GET /api/v1/commands lists them.`,
        );
      return postWork(parts, {
        agentId: query.agent,
        sessionKey: params.key,
        kind: "command",
        request: {
          name,
          ...defined({ args, cwd }),
        },
        policy: "queue",
        origin: "api",
        idempotencyKey: idempotencyKey(header("idempotency-key")),
      });
    },
  }),
];
