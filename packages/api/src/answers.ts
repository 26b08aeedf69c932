/** Shapes of answers that several routes share. */
import * as z from "zod";

export const error = z.object({
  error: z.object({
    code: z.string().describe("Code of the error catalogue."),
    message: z.string().describe("What failed, with which input, and what to do."),
  }),
});

export const session = z.object({
  key: z.string(),
  id: z.string().describe("Id of the current generation."),
  agent: z.string(),
  cwd: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  entries: z.int(),
  turns: z.int(),
  bytes: z.int(),
  name: z.string().optional(),
  title: z.string().optional(),
  folder: z.string().optional(),
  generation: z.int(),
});

/** As the host has it: of every generation. */
export const record = z.object({
  sessionKey: z.string(),
  sessionId: z.string(),
  file: z.string(),
  cwd: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  entryCount: z.int(),
  bytes: z.int(),
  name: z.string().optional(),
  title: z.string().optional(),
  folder: z.string().optional(),
  turnCount: z.int().optional(),
  current: z.boolean(),
  generation: z.int(),
});

export const work = z.object({
  id: z.string().describe("Also the id of its turn."),
  session: z.string(),
  agent: z.string(),
  kind: z.enum(["turn", "compaction", "command"]),
  policy: z.enum(["queue", "steer", "interrupt"]),
  origin: z.string(),
  state: z.enum(["waiting", "running", "steering", "ended"]),
  outcome: z.enum(["completed", "failed", "aborted", "interrupted", "steered", "withdrawn"]).optional(),
  intoWork: z.string().optional().describe("The work whose turn it joined."),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  ahead: z.int().describe("Work of the session before it that has not ended."),
  postedAt: z.iso.datetime(),
  startedAt: z.iso.datetime().optional(),
  endedAt: z.iso.datetime().optional(),
});

/** Data of the event `model.fallback`; `../../contract/src/fallback.ts` has the same as a type. */
export const modelFallback = z.object({
  type: z.literal("model.fallback"),
  from: z.string().describe("Model that failed or is cooling down, as provider/model."),
  to: z.string().describe("Model that takes over for the rest of the turn."),
  reason: z
    .enum([
      "rate_limit",
      "overloaded",
      "server_error",
      "timeout",
      "unreachable",
      "stream_cut",
      "auth",
      "billing",
      "model_not_found",
      "cooldown",
    ])
    .describe("Why `from` was passed over; `cooldown`: it failed a short time ago and was not called."),
  until: z.iso.datetime().optional().describe("End of the cooldown of `from`."),
  skipped: z
    .array(z.object({ model: z.string(), reason: z.string() }))
    .optional()
    .describe("Models of the chain between the two, and why each was passed over."),
});

export const approval = z.object({
  id: z.string(),
  work: z.string(),
  session: z.string(),
  agent: z.string(),
  tool: z.string(),
  toolCallId: z.string().optional(),
  summary: z.string(),
  preview: z.string().optional(),
  rule: z.string().optional().describe("What the answer `always` would save."),
  similar: z.string().optional().describe("What the answer `similar` would save."),
  form: z
    .record(z.string(), z.unknown())
    .optional()
    .describe("JSON Schema of the values that an MCP server asks for, which `content` of the answer has."),
  cwd: z.string(),
  askedAt: z.iso.datetime(),
});

export const anything = z.unknown();
