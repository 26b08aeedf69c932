/** Shapes of the longer bodies that routes of `/api/v1` take. */
import * as z from "zod";
import { SCOPES } from "@pagurus/contract/host/authority";
import { PERMISSION_MODES } from "@pagurus/contract/host/permission-modes";
import { jobCheck, tokenLimits } from "./answers.ts";

const part = z.union([
  z.strictObject({ type: z.literal("text"), text: z.string(), source: z.string().optional() }),
  z.strictObject({
    type: z.literal("image"),
    data: z.string().describe("Base64."),
    mimeType: z.string(),
  }),
]);

export const turnBody = z.strictObject({
  prompt: z.string().describe("The user's text."),
  parts: z.array(part).optional().describe("Further parts of the input, after the prompt."),
  policy: z
    .enum(["queue", "steer", "interrupt"])
    .default("queue")
    .describe("When a turn runs in the session: wait for it, join it, or end it."),
  model: z
    .string()
    .optional()
    .describe(
      "Model as provider/model, or an alias; no fallback takes over from it. Default: the configured one, with its fallbacks.",
    ),
  runtime: z.string().optional(),
  cwd: z.string().optional().describe("Working folder; default: the session's."),
  permission: z.enum(PERMISSION_MODES).optional(),
  audience: z
    .enum(["group", "strangers"])
    .optional()
    .describe(
      "Who else reads the answers, or asks: no memory notes and nothing of other sessions; for strangers no tools but the engine's.",
    ),
  thinking: z.enum(["off", "low", "medium", "high"]).optional(),
  heartbeat: z.boolean().optional().describe("Mark the turn as a heartbeat for the engine."),
  oneShot: z
    .boolean()
    .optional()
    .describe("The caller does not wait long: retry a failing model for 300 s only."),
  additionalContext: z
    .record(z.string(), z.strictObject({ value: z.string(), kind: z.enum(["untrusted", "application"]) }))
    .nullable()
    .optional()
    .describe("Hidden context before the input, as a complete set by key."),
  maxCost: z.number().positive().optional().describe("Cost limit of the turn, US dollars."),
});

export const newToken = z.strictObject({
  name: z.string().min(1).max(100),
  ...tokenLimits.partial().shape,
  scope: z.enum(SCOPES).default("chat"),
  sessions: tokenLimits.shape.sessions.default("*"),
  expiresAt: z.int().positive().optional().describe("Milliseconds since the epoch."),
});

const jobTimes = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("cron"), expression: z.string().min(1), tz: z.string().min(1) }),
  z.strictObject({ kind: z.literal("at"), at: z.int().positive().describe("Milliseconds since the epoch.") }),
  z.strictObject({ kind: z.literal("every"), everyMs: z.int().min(1_000) }),
]);

export const newJob = z.strictObject({
  prompt: z.string().min(1),
  session: z.string().min(1),
  agent: z.string().min(1).default("main"),
  model: z.string().optional(),
  cwd: z.string().optional(),
  times: jobTimes,
  missed: z
    .enum(["skip", "once"])
    .optional()
    .describe("For times while no server ran; default: skip, and once for a single time."),
  check: jobCheck.optional(),
});
