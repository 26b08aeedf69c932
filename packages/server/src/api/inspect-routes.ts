/** What the inspector reads: requests with their parts and bytes, what each left out, the session's line of time, its compactions. */
import { defined } from "@pagurus/core/data/defined";
import * as z from "zod";
import { PagurusError } from "@pagurus/contract/errors";
import type { InspectedSession } from "../inspect/inspected-sessions.ts";
import { requestCurve } from "../inspect/requests/request-curve.ts";
import { sourceSums } from "../inspect/requests/request-parts.ts";
import { redactedKinds } from "../inspect/report/report-redaction.ts";
import { leftOutSums } from "../inspect/timeline/left-out.ts";
import { branchesOf } from "../inspect/timeline/branches.ts";
import { switchesOf } from "../inspect/timeline/timeline-items.ts";
import { summaryText } from "../inspect/timeline/compaction-record.ts";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { encoded } from "../report-file.ts";
import type { CallerParts } from "../caller/caller-parts.ts";
import * as answers from "@pagurus/api/answers";
import * as shapes from "@pagurus/api/inspect-answers";
import { AGENT, PAGE, route, SESSION, type ApiRoute } from "./route.ts";

const REQUEST = { ...SESSION, request: z.string().min(1).describe("Id of the request.") };
const FROM = {
  from: z.coerce.number().int().min(0).default(0).describe("Index of the first one of the page."),
};
/** Most parts in one answer: a request of 10,000 messages has 20,000, with the JSON between them. */
const MOST_ANSWER_PARTS = 5_000;
/** Largest range of a body in one answer, bytes. */
const MOST_BYTES = 256 * 1024;

interface Named {
  params: { key: string };
  query: { agent: string };
  parts: CallerParts;
}

function inspected({ params, query, parts }: Named): InspectedSession {
  return parts.inspected.open({
    home: parts.facts.home,
    agentId: query.agent,
    sessionKey: params.key,
    store: parts.pagurus.sessions(query.agent),
  });
}

/** A page of a list that is in memory, and the index of the next one. */
function page<T>(
  all: readonly T[],
  { from, limit }: { from: number; limit: number },
): { page: T[]; next?: number } {
  const found = all.slice(from, from + limit);
  return { page: found, ...(from + limit < all.length ? { next: from + limit } : {}) };
}

/** The items before one, at most `limit`, oldest first. Throws `entry_not_found`. */
function pageBefore<T extends { id: string }>(
  all: readonly T[],
  { before, limit }: { before?: string | undefined; limit: number },
): { page: T[]; next?: string } {
  const end = before === undefined ? all.length : all.findIndex(({ id }) => id === before);
  if (end < 0)
    throw new PagurusError(
      "entry_not_found",
      `The list has no item ${JSON.stringify(before)}; read it from its end again.`,
    );
  const start = Math.max(0, end - limit);
  const found = all.slice(start, end);
  return { page: found, ...(start > 0 && found[0] ? { next: found[0].id } : {}) };
}

async function entryOf(
  { params, query, parts }: Named,
  id: string,
  sessionId?: string,
): Promise<TranscriptEntry> {
  const reader = parts.pagurus.sessions(query.agent).openReader(params.key, sessionId);
  try {
    const entry = await reader.cursor.get(id);
    if (entry) return entry;
    throw new PagurusError(
      "entry_not_found",
      `The session ${JSON.stringify(params.key)} has no entry ${JSON.stringify(id)}; GET /api/v1/sessions/{key}/entries lists them.`,
      { details: { id } },
    );
  } finally {
    reader.close();
  }
}

const requestRoutes: readonly ApiRoute[] = [
  route({
    method: "get",
    path: "/sessions/{key}/requests",
    summary: "Model requests of a session, a page from its end, oldest first",
    scope: "read",
    params: SESSION,
    query: {
      ...AGENT,
      ...PAGE,
      before: z.string().optional().describe("Id of the first request of the page after."),
      turn: z.string().optional().describe("Id of a turn: its requests alone, those of its compactions too."),
    },
    answer: z.object({ requests: z.array(shapes.request), total: z.int(), next: z.string().optional() }),
    handle: async (call) => {
      const { turn } = call.query;
      const rows = await inspected(call).requests();
      const all = turn === undefined ? rows : rows.filter(({ turnId }) => turnId === turn);
      const { page: requests, ...next } = pageBefore(all, call.query);
      return { body: { requests, total: all.length, ...next } };
    },
  }),
  route({
    method: "get",
    path: "/sessions/{key}/curve",
    summary: "Context size, share of the cache and cost of a session's own requests, oldest first",
    scope: "read",
    params: SESSION,
    query: {
      ...AGENT,
      points: z.coerce
        .number()
        .int()
        .min(2)
        .max(1_000)
        .default(400)
        .describe("Maximum number of points; in a long session one is of several requests."),
    },
    answer: shapes.curve,
    handle: async (call) => ({ body: requestCurve(await inspected(call).requests(), call.query.points) }),
  }),
  route({
    method: "get",
    path: "/sessions/{key}/requests/{request}",
    summary: "One model request, and what its sources sum up to",
    scope: "read",
    params: REQUEST,
    query: AGENT,
    answer: shapes.requestDetails,
    handle: async (call) => {
      const session = inspected(call);
      const request = await session.request(call.params.request);
      const { parts, ...rest } = await session.partsOf(request);
      return { body: { request, ...rest, sums: sourceSums(parts), parts: parts.length } };
    },
  }),
  route({
    method: "get",
    path: "/sessions/{key}/requests/{request}/parts",
    summary: "Parts of a request's body in order; each byte is in exactly one",
    scope: "read",
    params: REQUEST,
    query: {
      ...AGENT,
      ...FROM,
      limit: z.coerce
        .number()
        .int()
        .min(1)
        .max(MOST_ANSWER_PARTS)
        .default(100)
        .describe("Maximum number of parts."),
    },
    answer: z.object({ parts: z.array(shapes.part), total: z.int(), next: z.int().optional() }),
    handle: async (call) => {
      const { parts: all } = await inspected(call).parts(call.params.request);
      const { page: found, ...next } = page<(typeof all)[number]>(all, call.query);
      const parts = found.map((part) => ("bytes" in part ? part : { ...part, bytes: part.to - part.from }));
      return { body: { parts, total: all.length, ...next } };
    },
  }),
  route({
    method: "get",
    path: "/sessions/{key}/requests/{request}/body",
    summary: "A range of a request's body, at most 256 KiB",
    scope: "read",
    params: REQUEST,
    query: {
      ...AGENT,
      from: z.coerce.number().int().min(0).default(0).describe("Byte offset."),
      to: z.coerce
        .number()
        .int()
        .min(1)
        .describe("Byte offset after the last one; at most 262144 more than `from`."),
    },
    answer: z.string(),
    answerType: "application/octet-stream",
    handle: async (call) => {
      const { from, to } = call.query;
      if (to <= from || to - from > MOST_BYTES)
        throw new PagurusError(
          "usage_invalid",
          `The range from ${from} to ${to} is not valid; ask for 1 to ${MOST_BYTES} bytes at a time.`,
        );
      const bytes = await inspected(call).body(call.params.request, from, to);
      if (bytes) return { contentType: "application/octet-stream", chunks: oneChunk(bytes) };
      throw new PagurusError(
        "entry_not_found",
        `The body of the request ${JSON.stringify(call.params.request)} is not captured; GET /api/v1/sessions/{key}/requests/{request} has the reason.`,
      );
    },
  }),
  route({
    method: "get",
    path: "/sessions/{key}/requests/{request}/diff",
    summary:
      "What changed since another request: the first byte that differs, and each part that came, went, changed or moved",
    scope: "read",
    params: REQUEST,
    query: {
      ...AGENT,
      since: z
        .string()
        .min(1)
        .optional()
        .describe("Id of the earlier request; default: the one before of the same runtime."),
    },
    answer: shapes.requestDiff,
    handle: async (call) => ({
      body: await inspected(call).diff(call.params.request, call.query.since),
    }),
  }),
  route({
    method: "get",
    path: "/sessions/{key}/requests/{request}/left-out",
    summary: "Entries that a request did not hold, and where each was instead",
    scope: "read",
    params: REQUEST,
    query: { ...AGENT, ...PAGE, ...FROM },
    answer: z.object({
      known: z
        .boolean()
        .describe("False for a request without a receipt, and for one that is not a turn's own."),
      sums: z.array(shapes.leftOutSum),
      entries: z.array(shapes.leftOutEntry),
      total: z.int(),
      next: z.int().optional(),
    }),
    handle: async (call) => {
      const all = await inspected(call).leftOut(call.params.request);
      const { page: entries, ...next } = page(all ?? [], call.query);
      return {
        body: {
          known: all !== undefined,
          sums: leftOutSums(all ?? []),
          entries,
          total: all?.length ?? 0,
          ...next,
        },
      };
    },
  }),
];

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

export const inspectRoutes: readonly ApiRoute[] = [
  ...requestRoutes,
  route({
    method: "get",
    path: "/sessions/{key}/report",
    summary: "A session, or one request of it, as one HTML file that needs nothing else; secrets are masked",
    scope: "read",
    params: SESSION,
    query: {
      ...AGENT,
      request: z.string().min(1).optional().describe("Id of the request; default: the whole session."),
      redact: z
        .string()
        .default("")
        .describe(`What to redact, with commas between: ${shapes.REDACTED_KINDS.join(", ")}.`),
    },
    answer: z.string(),
    // A browser that opens the address shows no page of this origin.
    answerType: "application/octet-stream",
    handle: async (call) => {
      const redaction = call.parts.inspected.redaction(redactedKinds(call.query.redact));
      const pieces = await inspected(call).report(redaction, call.query.request);
      return { contentType: "application/octet-stream", chunks: encoded(pieces) };
    },
  }),
  route({
    method: "get",
    path: "/sessions/{key}/timeline",
    summary: "Turns, requests, compactions, rewinds and degradations in order, a page from the end",
    scope: "read",
    params: SESSION,
    query: {
      ...AGENT,
      ...PAGE,
      before: z.string().optional().describe("Id of the first item of the page after."),
      atOnce: z
        .literal("true")
        .optional()
        .describe(
          "Do not wait until a long session is read: an answer without `total` has its newest items.",
        ),
      entry: z.string().min(1).optional().describe("Id of an entry, of which the answer has the place."),
    },
    answer: z.object({
      items: z.array(shapes.timelineItem),
      total: z.int().optional(),
      next: z.string().optional(),
      place: shapes.timelinePlace.optional().describe("Absent for an entry of no item."),
    }),
    handle: async (call) => {
      const session = inspected(call);
      const { atOnce, before, limit, entry } = call.query;
      const isAtOnce = atOnce !== undefined && before === undefined && entry === undefined;
      const newest = isAtOnce ? await session.newestItems(limit) : undefined;
      if (newest) return { body: { items: newest.slice(-limit) } };
      const all = await session.timeline();
      const { page: items, ...next } = pageBefore(all, call.query);
      const place = entry === undefined ? undefined : await session.placeOf(entry);
      return { body: { items, total: all.length, ...next, ...defined({ place }) } };
    },
  }),
  route({
    method: "get",
    path: "/sessions/{key}/branches",
    summary: "Where a conversation was continued in several ways, and where another runtime took over",
    scope: "read",
    params: SESSION,
    query: AGENT,
    answer: z.object({
      branches: z.array(shapes.branching),
      switches: z.array(shapes.runtimeSwitch),
    }),
    handle: async (call) => {
      const session = inspected(call);
      const items = await session.timeline();
      return { body: { branches: branchesOf(await session.outline()), switches: switchesOf(items) } };
    },
  }),
  route({
    method: "get",
    path: "/sessions/{key}/compactions",
    summary: "Compactions with their summaries, without texts, a page from the end, oldest first",
    scope: "read",
    params: SESSION,
    query: {
      ...AGENT,
      ...PAGE,
      before: z.string().optional().describe("Entry id of the first compaction of the page after."),
    },
    answer: z.object({
      compactions: z.array(shapes.compaction),
      total: z.int(),
      next: z.string().optional(),
    }),
    handle: async (call) => {
      const session = inspected(call);
      const [outline, requests] = await Promise.all([session.outline(), session.requests()]);
      const all = outline.entries.filter(({ compaction }) => compaction !== undefined);
      const { page: found, ...next } = pageBefore(all, call.query);
      const compactions = found.flatMap(({ compaction }) => {
        if (!compaction) return [];
        const first = requests.find(({ epoch }) => epoch !== undefined && epoch === compaction.epoch);
        return [{ ...compaction, ...defined({ firstRequest: first?.id }) }];
      });
      return { body: { compactions, total: all.length, ...next } };
    },
  }),
  route({
    method: "get",
    path: "/sessions/{key}/compactions/{entry}/summaries/{summary}",
    summary: "The text of one summary",
    scope: "read",
    params: { ...SESSION, entry: z.string().min(1), summary: z.string().min(1) },
    query: AGENT,
    answer: z.object({ text: z.string() }),
    handle: async (call) => {
      const { entry: id, summary } = call.params;
      const entry = await entryOf(call, id);
      const text = entry.type === "compaction" ? summaryText(entry, summary) : undefined;
      if (text !== undefined) return { body: { text } };
      throw new PagurusError(
        "entry_not_found",
        `The compaction ${JSON.stringify(id)} has no summary ${JSON.stringify(summary)}; GET /api/v1/sessions/{key}/compactions lists them.`,
      );
    },
  }),
  route({
    method: "get",
    path: "/sessions/{key}/entries/{entry}",
    summary: "One entry of the transcript, on or off the path; of a long one the first 256 KiB",
    scope: "read",
    params: { ...SESSION, entry: z.string().min(1) },
    query: {
      ...AGENT,
      session: z
        .string()
        .min(1)
        .optional()
        .describe("Id of the generation that has it; default: the current one."),
    },
    answer: z.object({
      entry: answers.anything.optional(),
      cut: z.string().optional().describe("The beginning of a long entry's JSON, in place of the entry."),
      bytes: z.int().describe("Of the entry's JSON."),
    }),
    handle: async (call) => {
      const entry = await entryOf(call, call.params.entry, call.query.session);
      const json = Buffer.from(JSON.stringify(entry));
      const bytes = json.length;
      if (bytes <= MOST_BYTES) return { body: { entry, bytes } };
      // A character that the cut divides is left out.
      const cut = json.toString("utf8", 0, MOST_BYTES).replace(/\uFFFD$/, "");
      return { body: { cut, bytes } };
    },
  }),
];
