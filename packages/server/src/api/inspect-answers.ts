/** Shapes of the inspector's answers. */
import * as z from "zod";
import { BODY_SOURCES } from "../inspect/parts/body-part.ts";
import { anything } from "@pagurus/api/answers";

export const request = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  turnId: z.string().optional(),
  runtime: z.string(),
  seam: z.enum(["embedded", "thread", "wire", "projection"]).optional(),
  engine: z.string().optional(),
  model: z.string(),
  purpose: z.string().optional().describe("Absent for a turn's own request."),
  epoch: z.string().optional(),
  parts: z.int().optional().describe("Number of parts in the receipt."),
  tokens: z.int().optional().describe("Estimate of the whole request."),
  tokenBudget: z.int().optional(),
  sharedTokens: z.int().optional().describe("Of the beginning that it shares with the request before."),
  degraded: z.string().optional(),
  usage: anything.optional(),
  cacheShare: z.number().optional().describe("Share of the input that was read from the cache, 0 to 1."),
  cache: anything.optional().describe("Cause of a cache miss: our finding, and the provider's."),
  captured: z
    .object({
      number: z.int(),
      attempt: z.int(),
      kind: z.string(),
      bytes: z.int().optional(),
      status: z.int().optional(),
      answeredBy: z.string().optional(),
      totalMs: z.number().optional(),
    })
    .optional(),
});

const sourceSum = z.object({
  source: z.enum(BODY_SOURCES),
  parts: z.int(),
  bytes: z.int(),
  tokens: z.int(),
});

export const curve = z.object({
  points: z.array(
    z.object({
      request: z.string().describe("Id of the request with the most tokens."),
      number: z.int().describe("Of the first one, counted from 1."),
      requests: z.int().describe("Number of requests that the point is of."),
      at: z.iso.datetime(),
      tokens: z.int().describe("Of the largest one: as the provider counted its input, else an estimate."),
      cacheShare: z.number().optional().describe("Of their input, 0 to 1."),
      cost: z.number().optional().describe("US dollars a request."),
    }),
  ),
  requests: z.int().describe("Number of the session's own requests."),
  cost: z.number().optional().describe("US dollars of all requests of the session."),
});

export const requestDetails = z.object({
  request,
  captured: z.boolean(),
  why: z.string().optional().describe("Why there is no body."),
  body: z
    .object({
      bytes: z.int(),
      isEncoded: z
        .boolean()
        .describe("It was compressed on the wire; offsets are those of the decoded body."),
      notes: z.array(z.string()),
    })
    .optional(),
  sums: z.array(sourceSum),
  parts: z.int(),
});

export const part = z.object({
  from: z.int().optional().describe("Byte offset in the body; absent where no body is captured."),
  to: z.int().optional(),
  source: z.enum(BODY_SOURCES),
  at: z.string().optional().describe("Place in the body, such as messages[2].content[0]."),
  role: z.string().optional(),
  entryIds: z.array(z.string()).optional(),
  path: z.string().optional(),
  tokens: z.int(),
  bytes: z.int(),
  trimmed: z.object({ fromBytes: z.int(), toBytes: z.int() }).optional(),
  cached: z.boolean().optional().describe("Whether the provider read it from its cache, by its count."),
});

export const requestDiff = z.object({
  before: z.string().describe("Id of the earlier request."),
  captured: z.boolean().describe("Whether both bodies are captured; without them there is only `why`."),
  why: z.string().optional(),
  firstByte: z.int().optional().describe("First offset that differs; absent for equal bodies."),
  firstPart: z.int().optional().describe("Index of the later request's part that has it."),
  sharedTokens: z.int().optional().describe("Of the later request, before that part."),
  restTokens: z.int().optional(),
  unchangedParts: z.int().optional(),
  changes: z
    .array(
      z.object({
        change: z.enum(["added", "removed", "changed", "moved"]),
        before: z.int().optional().describe("Index among the earlier request's parts."),
        after: z.int().optional().describe("Index among the later request's parts."),
      }),
    )
    .optional(),
});

const WHERE = z.enum(["summarized", "evicted", "obsolete", "trimmed", "off-path"]);

export const leftOutEntry = z.object({
  entryId: z.string(),
  at: z.iso.datetime(),
  role: z.string(),
  bytes: z.int(),
  where: WHERE,
  summaryId: z.string().optional(),
  by: z.string().optional(),
  trimmed: z.object({ fromBytes: z.int(), toBytes: z.int() }).optional(),
});

export const leftOutSum = z.object({
  where: WHERE,
  summaryId: z.string().optional(),
  by: z.string().optional(),
  entries: z.int(),
  bytes: z.int(),
  firstEntryId: z.string(),
  lastEntryId: z.string(),
});

const summary = z.object({
  id: z.string(),
  kind: z.string(),
  depth: z.int(),
  firstEntryId: z.string(),
  lastEntryId: z.string(),
  children: z.array(z.string()),
  origin: z.string(),
  model: z.string().optional(),
  tokens: z.int(),
  sourceTokens: z.int(),
  isShown: z.boolean(),
});

export const compaction = z.object({
  entryId: z.string(),
  at: z.iso.datetime(),
  epoch: z.string().optional(),
  lane: z.string().optional(),
  trigger: z.string().optional(),
  handledBy: z.string().optional(),
  origin: z.string(),
  tokensBefore: z.int(),
  tokensAfter: z.int().optional(),
  cost: z.number().optional(),
  firstKeptEntryId: z.string(),
  splitInputId: z.string().optional(),
  summaries: z.array(summary),
  obsolete: z.record(z.string(), z.string()),
  firstRequest: z.string().optional().describe("Id of the first request of its epoch."),
});
