/** Shapes of the answers of `/api/v1`. Tokens are estimates unless a provider counted them. */
import * as z from "zod";
import { SCOPES } from "@pagurus/contract/host/authority";
import { PERMISSION_MODES } from "@pagurus/contract/host/permission-modes";
import type { ReceiptPart } from "@pagurus/contract/session/receipt";
import type { OpenNotice, SessionRecord } from "@pagurus/contract/session/writer";

/** A part that a type of the contract describes; our own answers are not parsed. */
export function typed<T>(): z.ZodType<T, T> {
  return z.unknown() as z.ZodType<T, T>;
}

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
} satisfies Record<keyof SessionRecord, z.ZodType>) as z.ZodType<SessionRecord, SessionRecord>;

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
  prompt: z.string().optional().describe("Beginning of the text of a turn that waits."),
  ahead: z.int().describe("Work of the session before it that has not ended."),
  postedAt: z.iso.datetime(),
  startedAt: z.iso.datetime().optional(),
  endedAt: z.iso.datetime().optional(),
});

/** Data of the event `model.fallback`; `../../contract/fallback.ts` has the same as a type. */
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
  accept: z
    .object({ label: z.string(), content: z.record(z.string(), z.unknown()) })
    .optional()
    .describe(
      "The yes of a question that `once` alone does not answer, such as whether a cost limit is raised: `once` with this `content`.",
    ),
  cwd: z.string(),
  askedAt: z.iso.datetime(),
});

export const anything = z.unknown();

const runningIn = z
  .object({ pid: z.int(), since: z.string() })
  .optional()
  .describe("The process that writes to it now.");

export const sessionDetails = session.extend({ work: z.array(work), runningIn });

export const claim = z.object({
  key: z.string(),
  record: record.optional().describe("Absent before its first turn."),
  folder: z.string().optional(),
  insteadOf: z
    .object({ sessionKey: z.string(), reason: z.string() })
    .optional()
    .describe("The folder's last conversation, which another program holds."),
});

export const transcriptState = z.object({
  record,
  leafId: z.string().nullable(),
  notices: z
    .array(
      z.object({
        kind: z.string(),
        detail: z.string(),
        turnId: z.string().optional(),
      } satisfies Record<keyof OpenNotice, z.ZodType>) as z.ZodType as z.ZodType<OpenNotice, OpenNotice>,
    )
    .readonly(),
  interruptedTurns: z.array(z.string()),
  runningIn,
});

export const command = z.object({
  name: z.string().describe("Without the slash."),
  aliases: z.array(z.string()).readonly().optional(),
  usage: z.string().describe("Its arguments, for a list of commands."),
  summary: z.string(),
});

/** Choices of a person for the next turns of a conversation; an absent one is as configured. */
export const choices = z.object({
  model: z.string().describe("The configured model, as provider/model."),
  models: z.array(z.string()).describe("Models that can be used now, the most likely first."),
  runtime: z.string().describe("Runtime of the configured model."),
  runtimes: z.array(z.object({ id: z.string(), label: z.string() })),
  mode: z.enum(PERMISSION_MODES).describe("The configured permission mode, within what the caller may."),
  modes: z.array(z.object({ id: z.enum(PERMISSION_MODES), name: z.string(), says: z.string() })),
  thinking: z.array(z.string()),
  folder: z.string().describe("Folder of the conversation."),
  problems: z.array(z.string()).describe("Why a turn would be refused now."),
});

/** A slash command that was run: a text, and what the client has to do besides. */
export const slashAnswer = z.object({
  text: z.string(),
  effects: z.array(z.looseObject({ type: z.string() })),
});

const side = z.object({ turnId: z.string(), request: z.int(), tokens: z.int() });

export const receiptDiff = z.object({
  from: side,
  to: side,
  prefixParts: z.int().describe("Leading parts that are the same in both."),
  prefixTokens: z.int(),
  unchangedParts: z.int().describe("Parts after the prefix that are the same in both."),
  changes: z.array(
    z.object({
      change: z.enum(["added", "removed", "changed"]),
      part: typed<ReceiptPart>().describe(
        "The later request's part of the receipt; for removed the earlier one's.",
      ),
      before: typed<ReceiptPart>().optional().describe("For changed: the part in the earlier request."),
    }),
  ),
});

type Folders = "any" | readonly string[];

/** Rights of a token. */
export const tokenLimits = z.object({
  scope: z.enum(SCOPES),
  sessions: z.string().min(1).describe("Pattern of session keys, with * for any characters."),
  agents: z.string().min(1).describe("Pattern of agent ids, with * for any characters."),
  folders: z
    .union([z.literal("any"), z.array(z.string().min(1)).max(100)])
    .describe("Absolute folders that it may name beside those of its sessions and agents.") as z.ZodType<
    Folders,
    Folders
  >,
  mode: z
    .enum(PERMISSION_MODES)
    .describe("Most permissive mode of its turns; the configured one is a second limit."),
  mayStartPrograms: z.boolean().describe("May name programs that the host starts, such as a job's command."),
  mayRemember: z.boolean().describe("May answer a permission question with a rule that is saved."),
});

export const token = z.object({
  id: z.string(),
  name: z.string(),
  ...tokenLimits.shape,
  parent: z.string().optional().describe("Id of the token that created it; absent for one of the owner."),
  createdAt: z.int(),
  expiresAt: z.int().optional(),
  revokedAt: z.int().optional(),
  usedAt: z.int().optional(),
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

/** Finds out without a model call whether there is something to do: the file exists and differs from the last run, or the command exits with 0. */
export const jobCheck = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("file"), path: z.string().min(1) }),
  z.strictObject({ kind: z.literal("command"), command: z.string().min(1) }),
]);

export const job = z.object({
  id: z.string(),
  agent: z.string(),
  session: z.string(),
  prompt: z.string(),
  model: z.string().optional(),
  times: anything,
  missed: z.enum(["skip", "once"]),
  check: jobCheck.optional(),
  paused: z.boolean(),
  nextAt: z.iso.datetime().optional(),
  lastAt: z.iso.datetime().optional(),
  lastOutcome: z.enum(["posted", "unneeded", "missed", "failed"]).optional(),
});
