/**
 * Conversations of lossless-claw's `lcm.db`: messages in their order, then every summary with its sources, then the summary at the head of
 * the current context.
 */
import { type Fields, filledString } from "@pagurus/core/data/record-fields";
import type { Draft } from "../draft.ts";
import { numberOf, timeOf } from "../foreign-fields.ts";
import type { LcmConversation, LcmDatabase } from "./lcm-database.ts";
import { keepLargeFiles } from "./lcm-files.ts";
import { readLcmMessage } from "./lcm-message.ts";
import { SLICE, type ForeignSession, type Paced } from "../foreign-source.ts";
import type { Tally } from "../tally.ts";
import { defined } from "@pagurus/core/data/defined";

/** `customType` of a summary of another engine; its data is that engine's record. */
const IMPORTED_SUMMARY = "pagurus.imported_summary";

/** Key of a message in the draft. */
export const messageKey = (id: unknown): string => `message ${String(id)}`;

export function* openLcm(db: LcmDatabase, conversation: LcmConversation): Paced<ForeignSession> {
  const { id, sessionId, createdAt } = conversation;
  const results = yield* pendingResults(db, id);
  return {
    sourceId: `${id}-${sessionId}`,
    key: lcmKey(conversation),
    cwd: "",
    startedAt: timeOf(createdAt),
    awaits: (callId) => (results.get(callId) ?? 0) > 0,
    fill: (draft, tally) => fill(db, conversation, { draft, tally, results }),
  };
}

/** The key of a conversation here: its own, plus its number when it was ended by `/new` or had no key. */
export function lcmKey({ id, sessionKey, sessionId, active }: LcmConversation): string {
  return active && sessionKey !== undefined ? `lcm:${sessionKey}` : `lcm:${sessionKey ?? sessionId}:${id}`;
}

/** Pending results by call; calls from before they were recorded have none. */
function* pendingResults(db: LcmDatabase, conversation: number): Paced<Map<string, number>> {
  const results = new Map<string, number>();
  if (!db.has("message_parts")) return results;
  const rows = db.each(
    `SELECT p.tool_call_id AS call FROM messages m JOIN message_parts p ON p.message_id = m.message_id
     WHERE m.conversation_id = ? AND m.role = 'tool' AND p.tool_call_id IS NOT NULL GROUP BY m.message_id, p.tool_call_id`,
    conversation,
  );
  let read = 0;
  for (const { call } of rows) {
    results.set(String(call), (results.get(String(call)) ?? 0) + 1);
    read += 1;
    if (read % SLICE === 0) yield;
  }
  return results;
}

type KeyOf = (message: unknown) => string;

export interface Into {
  draft: Draft;
  tally: Tally;
  results: Map<string, number>;
}

function* fill(db: LcmDatabase, conversation: LcmConversation, into: Into): Paced<void> {
  const { draft } = into;
  const at = timeOf(conversation.createdAt);
  if (conversation.title !== undefined)
    draft.add({ parent: null, at, body: { type: "session_info", name: conversation.title } });
  let read = 0;
  for (const row of db.each(
    "SELECT * FROM messages WHERE conversation_id = ? ORDER BY seq",
    conversation.id,
  )) {
    addMessage(db, row, into);
    read += 1;
    if (read % SLICE === 0) yield;
  }
  yield* addStored(db, conversation.id, into, messageKey);
  draft.finish();
}

/**
 * Adds the other records of the messages. `keyOf`: key of a message in the draft; `end`: the last one, absent: the one that was added last.
 */
export function* addStored(
  db: LcmDatabase,
  conversation: number,
  into: Into,
  keyOf: KeyOf,
  end?: string,
): Paced<void> {
  keepLargeFiles(db, conversation, into.draft, into.tally);
  if (!db.has("summaries")) return;
  addSummaries(db, conversation, into, keyOf);
  yield;
  addFrontier(db, conversation, into, keyOf, end);
}

export function addMessage(db: LcmDatabase, row: Fields, { draft, results }: Into): void {
  const id = numberOf(row["message_id"]) ?? 0;
  const parts = db.has("message_parts")
    ? db.rows("SELECT * FROM message_parts WHERE message_id = ? ORDER BY ordinal", id)
    : [];
  const where = { key: messageKey(id), at: timeOf(row["created_at"]) };
  const read = readLcmMessage(row, parts);
  if (!read) {
    draft.keep("empty message", { message: row, parts }, where);
    return;
  }
  const { bodies, data } = read;
  bodies.forEach((body, at) => {
    if (body.type === "message" && body.message.role === "toolResult") {
      const { toolCallId } = body.message;
      results.set(toolCallId, (results.get(toolCallId) ?? 0) - 1);
    }
    // References to the message mean its last item; each of several tool results has its own key.
    const key = at === bodies.length - 1 ? where.key : `${where.key} ${at}`;
    draft.add({ ...where, key, body });
  });
  for (const { kind, raw } of data) draft.keep(kind, { raw }, { parent: where.key });
}

function addSummaries(db: LcmDatabase, conversation: number, { draft, tally }: Into, keyOf: KeyOf): void {
  const rows = db.each(
    "SELECT * FROM summaries WHERE conversation_id = ? ORDER BY depth, created_at, summary_id",
    conversation,
  );
  for (const row of rows) {
    const id = filledString(row["summary_id"]) ?? "";
    const sources = db.has("summary_messages")
      ? db.rows("SELECT message_id FROM summary_messages WHERE summary_id = ? ORDER BY ordinal", id)
      : [];
    const below = db.has("summary_parents")
      ? db.rows(
          "SELECT parent_summary_id AS below FROM summary_parents WHERE summary_id = ? ORDER BY ordinal",
          id,
        )
      : [];
    tally.summaries += 1;
    draft.add({
      at: timeOf(row["created_at"]),
      body: {
        type: "custom",
        customType: IMPORTED_SUMMARY,
        data: {
          format: "lcm",
          summaryId: id,
          kind: row["kind"],
          depth: row["depth"],
          content: row["content"],
          tokens: row["token_count"],
          model: row["model"] ?? null,
          earliestAt: row["earliest_at"],
          latestAt: row["latest_at"],
          createdAt: row["created_at"],
          sourceEntryIds: sources.flatMap((source) => draft.entryId(keyOf(source["message_id"])) ?? []),
          sourceSummaryIds: below.map((source) => source["below"]),
        },
      },
    });
  }
}

/** Adds the summaries before the first message of the engine's current context. */
function addFrontier(
  db: LcmDatabase,
  conversation: number,
  { draft, tally }: Into,
  keyOf: KeyOf,
  end: string | undefined,
): void {
  if (!db.has("context_items")) return;
  const items = db.rows(
    `SELECT i.message_id AS message, s.content AS content, s.created_at AS made, s.source_message_token_count AS tokens
     FROM context_items i LEFT JOIN summaries s ON s.summary_id = i.summary_id
     WHERE i.conversation_id = ? ORDER BY i.ordinal`,
    conversation,
  );
  const first = items.findIndex((item) => item["message"] !== null);
  const head = first < 0 ? items : items.slice(0, first);
  const contents = head.flatMap((item) => filledString(item["content"]) ?? []);
  if (contents.length === 0) return;
  if (first >= 0 && items.slice(first).some((item) => item["message"] === null))
    tally.remarks.push(
      "There was a summary between messages; the messages that it was made from are shown instead.",
    );
  const kept = items[first];
  const keptKey = kept ? keyOf(kept["message"]) : undefined;
  draft.add({
    ...defined({ parent: end }),
    body: {
      type: "compaction",
      summary: contents.join("\n\n"),
      tokensBefore: head.reduce((sum, item) => sum + (numberOf(item["tokens"]) ?? 0), 0),
      origin: "engine",
      handledBy: "lossless-claw",
      ...defined({ keptKey }),
    },
  });
}
