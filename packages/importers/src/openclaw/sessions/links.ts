/**
 * Matches lossless-claw's messages of a conversation with the entries of OpenClaw's transcript. Since 0.13 a message names its entry, but
 * not at once: older messages, and the newest, are matched by content.
 */
import { hash } from "node:crypto";
import { asRecord, type Fields, filledString, listOf } from "@pagurus/core/data/record-fields";
import type { LcmConversation, LcmDatabase } from "../../sessions/lcm/lcm-database.ts";
import { messageKey } from "../../sessions/lcm/lcm.ts";

/** The conversation of lossless-claw that belongs to a transcript. */
export interface Beside {
  db: LcmDatabase;
  conversation: LcmConversation;
}

/** Entries of a transcript by their content. */
export class TranscriptMarks {
  readonly #ids = new Set<string>();
  readonly #marks: { id: string; mark: string }[] = [];
  readonly #known = new Set<string>();

  add(line: Fields): void {
    const id = filledString(line["id"]);
    if (id === undefined) return;
    this.#ids.add(id);
    const message = asRecord(line["message"]);
    if (line["type"] !== "message" || !message) return;
    const call = filledString(message["toolCallId"]);
    const mark =
      call === undefined ? messageMark(message["role"], wordsOf(message["content"])) : callMark(call);
    this.#marks.push({ id, mark });
    this.#known.add(mark);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  says(mark: string): boolean {
    return this.#known.has(mark);
  }

  /** Ids by mark, in their order, of those before an entry and of those from it on; without those in `linked`. */
  around(entry: string, linked: ReadonlySet<string>): { before: Found; after: Found } {
    const found = { before: new Map<string, string[]>(), after: new Map<string, string[]>() };
    let side = found.before;
    for (const { id, mark } of this.#marks) {
      if (id === entry) side = found.after;
      if (linked.has(id)) continue;
      const ids = side.get(mark);
      if (ids) ids.push(id);
      else side.set(mark, [id]);
    }
    return found;
  }
}

type Found = Map<string, string[]>;

function callMark(call: string): string {
  return `call ${call}`;
}

/** Whitespace is ignored: each program joins the parts of a message in its own way. */
function messageMark(role: unknown, words: string): string {
  const speaker = role === "toolResult" ? "tool" : String(role);
  return `${speaker} ${hash("sha1", words.replaceAll(/\s+/g, " ").trim(), "base64")}`;
}

function wordsOf(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .flatMap((part) => filledString(asRecord(part)?.["text"]) ?? [])
    .join(" ");
}

export interface Links {
  /** Ids in lcm.db of the messages before the transcript's first. */
  earlier: number[];
  /** Ids of messages that the transcript does not have, or not in this wording. */
  elsewhere: number[];
  /** Calls with results in the earlier ones. */
  answered: string[];
  keyOf: (message: unknown) => string;
  /** True when its summaries end the conversation, as a compaction. */
  hasHead: boolean;
}

interface Row {
  id: number;
  /** Its source entry, when recorded. */
  entry: string | undefined;
  /** Hash of its content. */
  mark: string;
}

/**
 * Undefined when no message names an entry of the transcript, when lossless-claw has messages in between that the transcript lacks, or when
 * that cannot be determined.
 */
export function linksOf({ db, conversation }: Beside, transcript: TranscriptMarks): Links | undefined {
  const columns = db.rows("SELECT name FROM pragma_table_info('messages')");
  if (!columns.some(({ name }) => name === "transcript_entry_id")) return undefined;
  const rows = rowsOf(db, conversation.id);
  const first = rows.findIndex(({ entry }) => entry !== undefined && transcript.has(entry));
  const entry = rows[first]?.entry;
  if (entry === undefined) return undefined;
  const entries = new Map<number, string>();
  for (const row of rows)
    if (row.entry !== undefined && transcript.has(row.entry)) entries.set(row.id, row.entry);
  const found = transcript.around(entry, new Set(entries.values()));
  const elsewhere: Row[] = [];
  // Outwards from the seam: of two with the same content the nearer one matches.
  for (const row of rows.slice(first)) {
    const id = entries.has(row.id) ? undefined : found.after.get(row.mark)?.shift();
    if (id !== undefined) entries.set(row.id, id);
    else if (!entries.has(row.id)) elsewhere.push(row);
  }
  let begin = first;
  for (const [at, row] of [...rows.slice(0, first).entries()].toReversed()) {
    const id = row.entry === undefined ? found.before.get(row.mark)?.pop() : undefined;
    if (id === undefined) continue;
    entries.set(row.id, id);
    begin = at;
  }
  elsewhere.push(...rows.slice(begin, first).filter((row) => !entries.has(row.id)));
  if (elsewhere.some((row) => row.entry !== undefined)) return undefined;
  // They may be in the transcript there in another wording.
  const unsure = rows.slice(0, begin).some((row) => row.entry === undefined);
  if (unsure && [...found.before.values()].some((ids) => ids.length > 0)) return undefined;
  const earlier = rows.slice(0, begin).map(({ id }) => id);
  return {
    earlier,
    // Duplicates in lcm.db are not missing in the transcript.
    elsewhere: elsewhere.filter(({ mark }) => !transcript.says(mark)).map(({ id }) => id),
    answered: earlier.flatMap((id) => answersOf(db, id)),
    keyOf: (message) => entries.get(Number(message)) ?? messageKey(message),
    hasHead: hasHead(db, conversation.id),
  };
}

function rowsOf(db: LcmDatabase, conversation: number): Row[] {
  const rows: Row[] = [];
  for (const row of db.each(
    "SELECT message_id AS id, role, content, transcript_entry_id AS entry FROM messages WHERE conversation_id = ? ORDER BY seq",
    conversation,
  )) {
    const id = Number(row["id"]);
    const entry = filledString(row["entry"]);
    const [call] = entry === undefined && row["role"] === "tool" ? answersOf(db, id) : [];
    const mark =
      call === undefined ? messageMark(row["role"], filledString(row["content"]) ?? "") : callMark(call);
    rows.push({ id, entry, mark });
  }
  return rows;
}

/** Calls that a message has results for. */
function answersOf(db: LcmDatabase, id: number): string[] {
  if (!db.has("message_parts")) return [];
  const parts = db.rows(
    `SELECT DISTINCT p.tool_call_id AS call FROM message_parts p JOIN messages m ON m.message_id = p.message_id
     WHERE p.message_id = ? AND m.role = 'tool' AND p.tool_call_id IS NOT NULL`,
    id,
  );
  return parts.map(({ call }) => String(call));
}

function hasHead(db: LcmDatabase, conversation: number): boolean {
  if (!db.has("context_items") || !db.has("summaries")) return false;
  const [first] = db.rows(
    "SELECT summary_id AS summary FROM context_items WHERE conversation_id = ? ORDER BY ordinal LIMIT 1",
    conversation,
  );
  return filledString(first?.["summary"]) !== undefined;
}
