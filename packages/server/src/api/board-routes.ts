/** The dashboard: costs, channels and their people, connected programs, health. All are about the whole host. */
import * as z from "zod";
import { channel, connection, health, spend } from "@pagurus/api/board-answers";
import { route, type ApiRoute } from "./route.ts";

export const boardRoutes: readonly ApiRoute[] = [
  route({
    method: "get",
    path: "/spend",
    summary: "Costs of the newest days by agent, model and program, and the configured limits",
    scope: "read",
    query: {
      days: z.coerce.number().int().min(1).max(366).default(30).describe("Number of days, today included."),
    },
    answer: spend,
    handle: async ({ query, parts }) => ({ body: await parts.board.spend(query.days) }),
  }),
  route({
    method: "get",
    path: "/health",
    summary: "Memory, disk, captures and what needs a person",
    scope: "read",
    answer: health,
    handle: async ({ parts }) => ({ body: await parts.board.health() }),
  }),
  route({
    method: "get",
    path: "/connections",
    summary: "Programs that have something open here, and tokens that were used",
    scope: "admin",
    answer: z.object({ connections: z.array(connection) }),
    handle: async ({ parts }) => ({ body: { connections: await parts.board.connections() } }),
  }),
  route({
    method: "get",
    path: "/channels",
    summary: "The configured channels, their connection and their people",
    scope: "admin",
    answer: z.object({ channels: z.array(channel) }),
    handle: async ({ parts }) => ({ body: { channels: await parts.board.channels() } }),
  }),
  route({
    method: "post",
    path: "/channels/approve",
    summary: "Let the person with this code speak",
    scope: "admin",
    body: z.strictObject({ code: z.string().min(1).max(100) }),
    answer: z.object({ channel: z.string(), address: z.string() }),
    handle: async ({ body, parts }) => ({ body: await parts.board.approve(body.code) }),
  }),
  route({
    method: "post",
    path: "/channels/remove",
    summary: "A person of a channel may no longer speak, or no longer waits",
    scope: "admin",
    body: z.strictObject({ channel: z.string().min(1), address: z.string().min(1) }),
    answer: z.object({ removed: z.string() }),
    handle: async ({ body, parts }) => {
      await parts.board.remove(body.channel, body.address);
      return { body: { removed: body.address } };
    },
  }),
];
