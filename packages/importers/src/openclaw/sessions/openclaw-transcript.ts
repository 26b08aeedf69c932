/** One conversation of OpenClaw, from any of its stores, joined with lossless-claw's data. */
import { PagurusError } from "@pagurus/contract/errors";
import { asRecord, type Fields, filledString } from "@pagurus/core/data/record-fields";
import { numberOf, timeOf } from "../../sessions/foreign-fields.ts";
import type { Draft, DraftBody } from "../../sessions/draft.ts";
import type { LcmDatabase } from "../../sessions/lcm/lcm-database.ts";
import { addMessage, addStored, messageKey } from "../../sessions/lcm/lcm.ts";
import { readLcmMessage } from "../../sessions/lcm/lcm-message.ts";
import { linksOf, TranscriptMarks, type Beside, type Links } from "./links.ts";
import { PiReader } from "../../sessions/pi.ts";
import { SLICE, type ForeignSession, type Paced } from "../../sessions/foreign-source.ts";
import type { SourceLine } from "../../sessions/source-lines.ts";
import { FRESH_START, OpenClawTree } from "./openclaw-tree.ts";
import { defined } from "@pagurus/core/data/defined";

/** Shown to a model in place of the messages that a reset archived. */
const RESET_SUMMARY = "The conversation was reset here; what was said before is kept in its transcript.";

/** Key of the last message that was added before the transcript. */
const EARLIER = "\0earlier";

export interface OpenClawSource {
  sessionId: string;
  /** Label of the conversation. */
  name?: string | undefined;
  /** Every line, oldest first; each call reads again. */
  lines: () => Iterable<SourceLine>;
}

export interface Opened {
  session: ForeignSession;
  /** Absent when there is no lossless-claw data. */
  beside?: BesideState;
  /** JSON of data that only lossless-claw has, to check whether it was imported; absent when it has none. */
  proof?: string;
}

/** `joined`: its extra data is in the session; `apart`: it has to be imported as a conversation of its own. */
type BesideState = "joined" | "apart";

/** Newest supported version of the transcript format. */
const NEWEST_VERSION = 4;

function assertKnown(sessionId: string, header: Fields | undefined): void {
  const version = numberOf(header?.["version"]) ?? 1;
  if (version <= NEWEST_VERSION) return;
  throw new PagurusError(
    "import_invalid",
    `The session ${sessionId} is written in version ${version} of the transcript format; versions up to ${NEWEST_VERSION} are known here.`,
    { details: { version } },
  );
}

/** Reads the transcript once, to build its tree. Throws `import_invalid` for an unknown version. */
export function* openTranscript(source: OpenClawSource, beside?: Beside): Paced<Opened> {
  const tree = new OpenClawTree();
  const marks = new TranscriptMarks();
  for (const { value, number } of source.lines()) {
    if (value) tree.scan(value);
    if (value && beside) marks.add(value);
    if (number % SLICE === 0) yield;
  }
  assertKnown(source.sessionId, tree.header);
  const links = beside && linksOf(beside, marks);
  const joined = beside && links ? { ...beside, ...links } : undefined;
  const results = new Map(tree.results);
  for (const call of joined?.answered ?? []) results.set(call, (results.get(call) ?? 0) + 1);
  const { sessionId } = source;
  const session: ForeignSession = {
    sourceId: sessionId,
    key: `openclaw:${sessionId}`,
    cwd: filledString(tree.header?.["cwd"]) ?? "",
    startedAt: timeOf(tree.header?.["timestamp"]),
    awaits: (call) => (results.get(call) ?? 0) > 0,
    *fill(draft, tally) {
      const into = { draft, tally, results };
      const at = timeOf(tree.header?.["timestamp"]);
      if (source.name !== undefined)
        draft.add({ parent: null, at, body: { type: "session_info", name: source.name } });
      const reader = new PiReader(draft, tally, results);
      reader.alias(FRESH_START, null);
      const earlier = joined?.earlier ?? [];
      for (const id of earlier)
        for (const row of joined?.db.rows("SELECT * FROM messages WHERE message_id = ?", id) ?? [])
          if (joined) addMessage(joined.db, row, into);
      reader.alias(EARLIER, earlier.length > 0 ? messageKey(earlier.at(-1)) : null);
      if (earlier.length > 0) tally.remarks.push(fromLcm(earlier.length));
      yield* reader.read(placed(source.lines(), tree, earlier.length > 0));
      if (tree.resets > 0)
        tally.remarks.push("It was reset; the messages before it are there, and no model sees them.");
      const end = reader.end(tree.leaf);
      if (!joined || end === null) return draft.finish(end);
      for (const message of joined.elsewhere) keepStored(joined.db, message, draft);
      yield* addStored(joined.db, joined.conversation.id, into, joined.keyOf, end);
      // A summary at the head of the current context is its last entry.
      draft.finish(joined.hasHead ? undefined : end);
    },
  };
  if (!beside) return { session };
  const proof = joined && proofOf(joined);
  return { session, beside: links ? "joined" : "apart", ...defined({ proof }) };
}

/** Content of a message that only lossless-claw has, as a line of the imported transcript has it. */
function proofOf({ db, earlier, elsewhere }: Beside & Links): string | undefined {
  for (const id of earlier)
    for (const body of storedMessage(db, id))
      if (body.type === "message" && body.message.role !== "toolResult")
        return JSON.stringify(body.message.content);
  const [only] = elsewhere.flatMap((id) => db.rows("SELECT content FROM messages WHERE message_id = ?", id));
  const content = filledString(only?.["content"]);
  return content === undefined ? undefined : JSON.stringify(content);
}

function storedMessage(db: LcmDatabase, id: number): DraftBody[] {
  const [message] = db.rows("SELECT * FROM messages WHERE message_id = ?", id);
  const read = message && readLcmMessage(message, partsOf(db, id));
  return read?.bodies ?? [];
}

function partsOf(db: LcmDatabase, id: number): Fields[] {
  if (!db.has("message_parts")) return [];
  return db.rows("SELECT * FROM message_parts WHERE message_id = ? ORDER BY ordinal", id);
}

/** Adds a message that lossless-claw has and the transcript lacks, or has in another wording. */
function keepStored(db: LcmDatabase, id: number, draft: Draft): void {
  const [message] = db.rows("SELECT * FROM messages WHERE message_id = ?", id);
  draft.keep("message that only lcm.db has", { message, parts: partsOf(db, id) });
}

function fromLcm(count: number): string {
  const messages = count === 1 ? "1 message" : `${count.toLocaleString("en-US")} messages`;
  return `At its beginning: ${messages} of lcm.db that the transcript has no more.`;
}

/** The lines as pi's reader expects them. `open`: the first entry follows what was added before. */
function* placed(lines: Iterable<SourceLine>, tree: OpenClawTree, open: boolean): Generator<SourceLine> {
  for (const line of lines) {
    const value = line.value && tree.placed(line.value);
    if (!line.value) yield line;
    else if (value) yield { ...line, value: open ? unrooted(asPi(value)) : asPi(value) };
  }
}

function unrooted(value: Fields): Fields {
  return value["parentId"] === null ? { ...value, parentId: EARLIER } : value;
}

/** Models of host text in assistant messages; OpenClaw never shows it to a model. */
const HOST_MODELS: ReadonlySet<unknown> = new Set(["delivery-mirror", "gateway-injected"]);

function asPi(value: Fields): Fields {
  if (value["type"] === "message") {
    const { role, provider, model } = asRecord(value["message"]) ?? {};
    const mirror = role === "assistant" && provider === "openclaw" && HOST_MODELS.has(model);
    // An unknown type is kept as data.
    return mirror ? { ...value, type: String(model) } : value;
  }
  // A reset that keeps a part equals a compaction.
  if (value["type"] !== "reset" || filledString(value["firstKeptEntryId"]) === undefined) return value;
  return { ...value, type: "compaction", summary: RESET_SUMMARY, fromHook: true };
}
