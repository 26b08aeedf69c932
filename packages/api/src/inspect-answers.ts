/** Shapes of the inspector's answers. */
import * as z from "zod";
import type { Usage } from "@pagurus/contract/message";
import type { Receipt } from "@pagurus/contract/session/receipt";
import { modelFallback, typed } from "./answers.ts";

/** Kinds of words that a report can leave out. */
export const REDACTED_KINDS = ["system", "tools", "user", "assistant", "results", "summaries"] as const;

const trimmed = z
  .object({ fromBytes: z.int(), toBytes: z.int() })
  .optional()
  .describe("Size before and after trimming.");

/** One model request in a list: what its receipt and its capture have in common. */
export const request = z.object({
  id: z.string().describe("`<turn id>.<number>`, or `c<number>` of a capture that has no receipt."),
  at: z.iso.datetime(),
  turnId: z.string().optional(),
  runtime: z.string(),
  seam: z.enum(["embedded", "thread", "wire", "projection"]).optional(),
  engine: z.string().optional(),
  model: z.string(),
  fallback: z
    .object({ from: z.string(), reason: modelFallback.shape.reason })
    .optional()
    .describe("Model that `model` took over from, and why."),
  purpose: z.string().optional().describe("Absent for a turn's own request."),
  epoch: z.string().optional(),
  parts: z.int().optional().describe("Number of parts in the receipt."),
  tokens: z.int().optional().describe("Estimate of the whole request."),
  tokenBudget: z.int().optional(),
  inputTokens: z
    .int()
    .optional()
    .describe("Input as the provider counted it, with what was read from its cache or written to it."),
  contextTokens: z.int().optional().describe("Count of the context that thresholds are compared with."),
  fixedTokens: z.int().optional().describe("What the harness adds by itself; no part has it."),
  sharedTokens: z.int().optional().describe("Of the beginning that it shares with the request before."),
  degraded: z.string().optional(),
  usage: typed<Usage>().optional(),
  cacheShare: z.number().optional().describe("Share of the input that was read from the cache, 0 to 1."),
  cache: typed<Receipt["cache"]>()
    .optional()
    .describe("Cause of a cache miss: our finding, and the provider's."),
  captured: z
    .object({
      number: z.int().describe("Number of the capture."),
      attempt: z.int().describe("Which attempt of the capture it is, from 1."),
      kind: z.string().describe("main, compaction, subagent, side, count or unknown."),
      bytes: z.int().optional().describe("As they were sent; absent if nothing was sent."),
      status: z.int().optional(),
      answeredBy: z.string().optional(),
      totalMs: z.number().optional(),
    })
    .optional(),
});

/**
 * Where the bytes of a part come from. `framing`: JSON between the others, names of members included; `settings`: values that are no
 * content (model, limits); `system`, `tools`: whoever wrote them; `addition`: the engine's text beside the system prompt;
 * `instructions`, `memory`: the project's files and the memory's section; `head`: summaries of older messages; `kept`: messages before
 * the live turn; `live`: the live turn; `recall`: passages that the engine found for the input; `fragment`: additional context;
 * `harness`: what the runtime adds to the conversation itself; `unread`: the stored bytes are not the complete JSON of their protocol.
 */
export const partSource = z.enum([
  "framing",
  "settings",
  "system",
  "tools",
  "addition",
  "instructions",
  "memory",
  "head",
  "kept",
  "live",
  "recall",
  "fragment",
  "harness",
  "unread",
]);

export const sourceSum = z.object({
  source: partSource,
  parts: z.int(),
  bytes: z.int(),
  tokens: z.int(),
});

export const curvePoint = z.object({
  request: z.string().describe("Id of the request with the most tokens."),
  number: z.int().describe("Of the first one, counted from 1."),
  requests: z.int().describe("Number of requests that the point is of."),
  at: z.iso.datetime(),
  tokens: z.int().describe("Of the largest one: as the provider counted its input, else an estimate."),
  cacheShare: z
    .number()
    .optional()
    .describe("Of their input, 0 to 1; absent where the provider reports none."),
  cost: z.number().optional().describe("US dollars a request, on average of those whose cost is known."),
});

export const curve = z.object({
  points: z.array(curvePoint),
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
  source: partSource,
  at: z.string().optional().describe("Place in the body, such as messages[2].content[0]."),
  role: z.string().optional().describe("As the protocol names it."),
  entryIds: z.array(z.string()).optional().describe("Transcript entries whose words the part has, in order."),
  path: z.string().optional().describe("Path of a project file."),
  words: z.string().optional().describe("Beginning of its text; of a tool its name."),
  tokens: z.int(),
  bytes: z.int(),
  trimmed,
  cached: z.boolean().optional().describe("Whether the provider read it from its cache, by its count."),
});

export const changedPart = z.object({
  change: z
    .enum(["added", "removed", "changed", "moved"])
    .describe("`moved`: the same bytes at another place among the parts that both have."),
  before: z.int().optional().describe("Index among the earlier request's parts."),
  after: z.int().optional().describe("Index among the later request's parts."),
});

export const bodyDiff = z.object({
  firstByte: z.int().optional().describe("First offset that differs; absent for equal bodies."),
  firstPart: z.int().optional().describe("Index of the later request's part that has it."),
  sharedTokens: z.int().describe("Of the later request, before that part."),
  restTokens: z.int(),
  unchangedParts: z
    .int()
    .describe("Parts that are the same in both, in the same order; framing does not count."),
  changes: z
    .array(changedPart)
    .describe("In the order of the later request, with what went before the part that follows it."),
});

export const requestDiff = z.object({
  before: z.string().describe("Id of the earlier request."),
  captured: z.boolean().describe("Whether both bodies are captured; without them there is only `why`."),
  why: z.string().optional(),
  ...bodyDiff.partial().shape,
});

/**
 * `summarized`: a summary is in its place; `evicted`: it is in no request of this epoch, and no summary names it; `obsolete`: the
 * request had a short text in its place, since a later entry made it obsolete; `trimmed`: the request had a shorter form;
 * `off-path`: it was rewound or replaced before.
 */
const leftOutPlace = z.enum(["summarized", "evicted", "obsolete", "trimmed", "off-path"]);

export const leftOutEntry = z.object({
  entryId: z.string(),
  at: z.iso.datetime(),
  role: z.string(),
  bytes: z.int().describe("Of its line in the transcript."),
  where: leftOutPlace,
  summaryId: z.string().optional().describe("The summary that covers it."),
  by: z.string().optional().describe("The compaction, or the entry that replaced it."),
  words: z.string().optional().describe("Beginning of its text."),
  trimmed,
});

export const leftOutSum = z.object({
  where: leftOutPlace,
  summaryId: z.string().optional(),
  by: z.string().optional(),
  entries: z.int(),
  bytes: z.int(),
  firstEntryId: z.string(),
  lastEntryId: z.string(),
});

export const summary = z.object({
  id: z.string(),
  kind: z.string(),
  depth: z.int().describe("0 for a summary of words, else of other summaries."),
  firstEntryId: z.string(),
  lastEntryId: z.string(),
  children: z.array(z.string()).describe("Ids of the summaries that it was made of, in order."),
  origin: z.string().describe("Who wrote it: model, extractive or engine."),
  model: z.string().optional(),
  tokens: z.int(),
  sourceTokens: z.int(),
  isShown: z.boolean().describe("Whether the context shows it itself, and not only a summary above it."),
});

export const compaction = z.object({
  entryId: z.string(),
  at: z.iso.datetime(),
  epoch: z.string().optional().describe("Id of the epoch that it began."),
  lane: z.string().optional(),
  trigger: z.string().optional(),
  handledBy: z.string().optional(),
  origin: z.string(),
  tokensBefore: z.int(),
  tokensAfter: z.int().optional(),
  cost: z.number().optional().describe("Of the model calls that made the summary, US dollars."),
  firstKeptEntryId: z.string(),
  splitInputId: z.string().optional().describe("Input of a live turn that was cut, which stays verbatim."),
  summaries: z.array(summary),
  obsolete: z
    .record(z.string(), z.string())
    .describe("Entries of the kept part that a short text replaces, since a later entry made them obsolete."),
  firstRequest: z.string().optional().describe("Id of the first request of its epoch."),
});

export const usage = z.object({
  requests: z.int(),
  inputTokens: z.int().describe("As the providers reported them, with those from a cache."),
  cachedTokens: z.int().describe("Of the input."),
  outputTokens: z.int(),
  cost: z.number().optional().describe("US dollars; absent where no price is known."),
  model: z.string().optional().describe("Of the newest request that was a turn's own."),
  runtime: z.string().optional(),
});

const item = { id: z.string().describe("Unique in the session."), at: z.iso.datetime() };

export const timelineItem = z.discriminatedUnion("kind", [
  z.object({
    ...item,
    kind: z.literal("turn"),
    turnId: z.string(),
    title: z.string().describe("Beginning of the input."),
    inputEntryId: z.string().optional(),
    entries: z.int(),
    outcome: z.string().optional().describe("Absent while it runs."),
    code: z.string().optional(),
    runtimes: z.array(z.string()).describe("Runtimes of its requests, in order."),
    onPath: z.boolean().describe("False if it was rewound."),
  }),
  z.object({ ...item, kind: z.literal("request"), request }),
  z.object({
    ...item,
    kind: z.literal("compaction"),
    entryId: z.string(),
    lane: z.string().optional(),
    trigger: z.string().optional(),
    handledBy: z.string().optional(),
    origin: z.string().optional(),
    epoch: z.string().optional(),
    tokensBefore: z.int(),
    tokensAfter: z.int().optional(),
    summaries: z.int(),
  }),
  z.object({ ...item, kind: z.literal("rewind"), targetId: z.string().nullable() }),
  z.object({ ...item, kind: z.literal("fork"), sessionId: z.string(), entryId: z.string() }),
  z.object({
    ...item,
    kind: z.literal("degradation"),
    turnId: z.string().optional(),
    stage: z.string(),
    reason: z.string(),
  }),
]);

const branchTurn = z.object({
  turnId: z.string().optional().describe("Absent in a session of another program."),
  inputEntryId: z.string(),
  title: z.string().describe("Beginning of the input."),
  at: z.iso.datetime(),
  leafId: z.string().describe("Newest entry that follows the turn: a rewind to it returns to this branch."),
  onPath: z.boolean(),
});

/** Turns that continue the same one, in the order of writing. */
export const branching = z.object({ turns: z.array(branchTurn) });

/** A turn that another runtime ran than the one before it. */
export const runtimeSwitch = z.object({
  turnId: z.string(),
  inputEntryId: z.string(),
  from: z.string(),
  to: z.string(),
});

/** Where an entry is on the line of time. */
export const timelinePlace = z.object({
  item: z.string().describe("Id of the item that has the entry."),
  newer: z.int().describe("Number of newer items."),
});
