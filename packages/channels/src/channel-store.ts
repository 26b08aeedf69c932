/**
 * What the host keeps of its channels, in the server's database: places in the archives, who may speak, which work answers which
 * person, and what is to be sent.
 */
import { createHash } from "node:crypto";
import type { Attachment, OutgoingMessage } from "@pagurus/contract/channel/channel";
import type { Database } from "@pagurus/core/data/sqlite";
import { AskedQuestions, questionDigest, messageOfQuestion, QUESTION_COLUMNS } from "./asked-questions.ts";
import { ChannelPeers, machineUp, type Peer } from "./channel-peers.ts";
import { DraftRecords } from "./draft-records.ts";
import { GivenAnswers } from "./given-answers.ts";
import { KeptFiles } from "./kept-files.ts";
import { questionText } from "./permission-words.ts";
import { WaitingMessages, type MessageOrigin } from "./waiting-messages.ts";
import { defined } from "@pagurus/core/data/defined";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS channels (id TEXT PRIMARY KEY, cursor TEXT, state TEXT, since INTEGER, missed TEXT);
CREATE TABLE IF NOT EXISTS channel_work (
  work TEXT PRIMARY KEY, channel TEXT NOT NULL, address TEXT NOT NULL, is_group INTEGER NOT NULL, answered INTEGER NOT NULL,
  thread TEXT, reply TEXT, created INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS channel_work_open ON channel_work (work) WHERE answered = 0;
CREATE TABLE IF NOT EXISTS channel_outgoing (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, channel TEXT NOT NULL, address TEXT NOT NULL,
  is_group INTEGER NOT NULL, text TEXT NOT NULL, state TEXT NOT NULL, created INTEGER NOT NULL,
  thread TEXT, reply TEXT, tried INTEGER, ${QUESTION_COLUMNS});
CREATE INDEX IF NOT EXISTS channel_outgoing_to ON channel_outgoing (channel, address, seq);
CREATE INDEX IF NOT EXISTS channel_outgoing_open ON channel_outgoing (channel, seq) WHERE state IN ('waiting', 'sending');`;

/** Replaces a draft where the answer has no text after all. */
const NO_TEXT = "(no text)";

/** Id of a reply to a message that is no work: the same at each delivery of the message. */
export function replyId(channel: string, messageId: string): string {
  return createHash("sha256")
    .update(JSON.stringify([channel, messageId]))
    .digest("hex")
    .slice(0, 32);
}

/** Where an answer goes. */
export interface Place {
  channel: string;
  address: string;
  isGroup: boolean;
  thread?: string;
  /** What the channel needs to answer there. */
  reply?: string;
}

interface PlaceRow {
  channel: string;
  address: string;
  is_group: number;
  thread: string | null;
  reply: string | null;
}

/** What one message of an answer has. */
export interface AnswerPart {
  /** Empty for a file alone. */
  text: string;
  attachment?: Attachment;
}

interface OutgoingRow extends PlaceRow {
  seq: number;
  id: string;
  text: string;
  state: "waiting" | "sending";
  created: number;
  tried: number | null;
}

export interface ChannelState {
  /** A sentence about the connection. */
  state: string;
  /** Milliseconds since the epoch. */
  since: number;
  /** What may have been missed, in a sentence. */
  missed?: string;
}

export class ChannelStore {
  readonly #db: Database;
  readonly #files: KeptFiles;
  readonly drafts: DraftRecords;
  readonly waiting: WaitingMessages;
  readonly answers: GivenAnswers;
  readonly questions: AskedQuestions;
  readonly people: ChannelPeers;
  readonly #now: () => number;

  constructor(db: Database, now: () => number = Date.now, up: () => number = machineUp) {
    this.#db = db;
    this.#now = now;
    db.raw.exec(SCHEMA);
    this.#files = new KeptFiles(db);
    this.drafts = new DraftRecords(db, now);
    this.waiting = new WaitingMessages(db);
    this.answers = new GivenAnswers(db, now);
    this.people = new ChannelPeers(db, { now, up });
    this.questions = new AskedQuestions(db, now);
  }

  /** Undefined before the first connection. */
  cursor(channel: string): string | undefined {
    const row = this.#db.get<{ cursor: string | null }>("SELECT cursor FROM channels WHERE id = ?", channel);
    return row?.cursor ?? undefined;
  }

  /** Runs writes in one transaction. */
  transaction<T>(work: () => T): T {
    return this.#db.transaction(work);
  }

  /** As `transaction`, for what the service hands out again where a crash of the machine undoes it. */
  unsynced(work: () => void): void {
    this.#db.unsynced(work);
  }

  /** Called in a transaction with what was received up to there. */
  setCursor(channel: string, cursor: string | undefined): void {
    if (cursor === undefined) return;
    this.#db.run(
      "INSERT INTO channels (id, cursor) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET cursor = excluded.cursor",
      channel,
      cursor,
    );
  }

  setState(channel: string, state: string): void {
    this.#db.run(
      `INSERT INTO channels (id, state, since) VALUES (?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET state = excluded.state, since = excluded.since`,
      channel,
      state,
      this.#now(),
    );
  }

  setMissed(channel: string, missed: string): void {
    this.#db.run(
      "INSERT INTO channels (id, missed) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET missed = excluded.missed",
      channel,
      missed,
    );
  }

  /** What may have been missed, in a sentence. */
  missed(channel: string): string | undefined {
    const select = "SELECT missed FROM channels WHERE id = ?";
    return this.#db.get<{ missed: string | null }>(select, channel)?.missed ?? undefined;
  }

  state(channel: string): ChannelState | undefined {
    const row = this.#db.get<{ state: string | null; since: number | null; missed: string | null }>(
      "SELECT state, since, missed FROM channels WHERE id = ?",
      channel,
    );
    if (!row || row.state === null) return undefined;
    return { state: row.state, since: row.since ?? 0, ...defined({ missed: row.missed ?? undefined }) };
  }

  /** The work that answers a person, and the message that it answers; in the transaction that accepts it. False for known work. */
  addWork(
    workId: string,
    { channel, address, isGroup, thread, reply }: Place,
    origin?: MessageOrigin,
  ): boolean {
    if (origin) this.waiting.add(workId, origin);
    const added = this.#db.run(
      `INSERT OR IGNORE INTO channel_work (work, channel, address, is_group, thread, reply, answered, created)
       VALUES (?, ?, ?, ?, ?, ?, 0, ?)`,
      workId,
      channel,
      address,
      isGroup ? 1 : 0,
      thread ?? null,
      reply ?? null,
      this.#now(),
    );
    return added > 0;
  }

  /** Work of channels without an answer so far, oldest first. */
  unanswered(): { workId: string; place: Place }[] {
    return this.#db
      .all<PlaceRow & { work: string }>("SELECT * FROM channel_work WHERE answered = 0 ORDER BY work")
      .map((row) => ({ workId: row.work, place: placeOfRow(row) }));
  }

  placeOf(workId: string): Place | undefined {
    const row = this.#db.get<PlaceRow>("SELECT * FROM channel_work WHERE work = ?", workId);
    return row && placeOfRow(row);
  }

  isAnswered(workId: string): boolean {
    return this.#db.get("SELECT 1 FROM channel_work WHERE work = ? AND answered = 1", workId) !== undefined;
  }

  /** Queues the parts of an answer, once for each work; what a crash of the machine undoes is queued again. A text replaces its draft. */
  answer(workId: string, place: Place, parts: readonly AnswerPart[]): void {
    this.#db.unsynced(() => {
      const lacksText = parts[0] === undefined || parts[0].attachment !== undefined;
      const all = lacksText && this.drafts.find(workId) ? [{ text: NO_TEXT }, ...parts] : parts;
      for (const [part, { text, attachment }] of all.entries()) {
        const id = `${workId}-${part}`;
        if (attachment) this.#files.keep(id, attachment);
        this.queue(id, place, text);
      }
      this.#db.run("UPDATE channel_work SET answered = 1 WHERE work = ?", workId);
      this.waiting.end(workId);
    });
  }

  /** Queues a message; one with a known id is queued already. */
  queue(id: string, { channel, address, isGroup, thread, reply }: Place, text: string): void {
    this.#db.run(
      `INSERT OR IGNORE INTO channel_outgoing (id, channel, address, is_group, thread, reply, text, state, created)
       VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', ?)`,
      id,
      channel,
      address,
      isGroup ? 1 : 0,
      thread ?? null,
      reply ?? null,
      text,
      this.#now(),
    );
  }

  /** As `ChannelPeers.approve`. */
  approve(code: string): Peer | undefined {
    return this.people.approve(code);
  }

  /** As `ChannelPeers.remove`. */
  remove(channel: string, address: string): boolean {
    return this.people.remove(channel, address);
  }

  /** Queues the message that asks a permission question, once. */
  ask({ id, summary }: { id: string; summary: string }, place: Place, maxChars: number): void {
    const message = messageOfQuestion(id);
    if (this.isQueued(message)) return;
    const code = this.questions.codeFor(place);
    const { text, isWhole } = questionText(summary, code, maxChars);
    this.transaction(() => {
      this.queue(message, place, text);
      this.questions.add(id, { code, digest: questionDigest(summary), isWhole });
    });
  }

  isQueued(id: string): boolean {
    return this.#db.get("SELECT 1 FROM channel_outgoing WHERE id = ?", id) !== undefined;
  }

  /** The next message to send; `isRepeat`: an attempt has begun before. */
  nextOutgoing(channel: string): { message: OutgoingMessage; isRepeat: boolean } | undefined {
    const row = this.#db.get<OutgoingRow>(
      `SELECT * FROM channel_outgoing WHERE channel = ? AND state IN ('waiting', 'sending') ORDER BY seq LIMIT 1`,
      channel,
    );
    if (!row) return undefined;
    const { seq, id, text, created: createdAt, tried } = row;
    const { address: to, isGroup, thread, reply } = placeOfRow(row);
    const previous = this.#db.get<{ id: string }>(
      `SELECT id FROM channel_outgoing WHERE channel = ? AND address = ? AND seq < ? AND state = 'sent'
       ORDER BY seq DESC LIMIT 1`,
      channel,
      to,
      seq,
    );
    const message: OutgoingMessage = { id, to, isGroup, text, createdAt };
    if (thread !== undefined) message.thread = thread;
    if (reply !== undefined) message.reply = reply;
    if (previous) message.previousId = previous.id;
    const attachment = this.#files.find(id);
    if (attachment) message.attachment = attachment;
    if (tried !== null) message.triedAt = tried;
    return { message, isRepeat: row.state === "sending" };
  }

  /** `lost`: it may not have arrived, and cannot be sent again without the risk of a second one. */
  setOutgoing(id: string, state: "sending" | "sent" | "lost"): void {
    if (state === "sending")
      // On disk before the attempt: what is not known to be tried would be sent again without a look.
      this.#db.run("UPDATE channel_outgoing SET state = ?, tried = ? WHERE id = ?", state, this.#now(), id);
    else
      this.#db.unsynced(() => {
        this.#db.run("UPDATE channel_outgoing SET state = ? WHERE id = ?", state, id);
        this.#files.remove(id);
      });
  }

  /** Messages of a thread that were queued since a time, ms since the epoch. */
  queuedSince({ channel, address, thread = "" }: Place, since: number): number {
    return this.#count("channel = ? AND address = ? AND thread = ? AND created >= ?", [
      channel,
      address,
      thread,
      since,
    ]);
  }

  /** As `queuedSince`, of all threads of its address. */
  queuedToSince({ channel, address }: Place, since: number): number {
    return this.#count("channel = ? AND address = ? AND created >= ?", [channel, address, since]);
  }

  #count(which: string, values: (string | number)[]): number {
    const select = `SELECT count(*) AS n FROM channel_outgoing WHERE ${which}`;
    return this.#db.get<{ n: number }>(select, ...values)?.n ?? 0;
  }

  outgoingCount(channel: string): number {
    return this.#count("channel = ? AND state IN ('waiting', 'sending')", [channel]);
  }

  /** Removes what was sent, and answered work that was accepted, before a time, ms since the epoch. */
  prune(before: number): void {
    this.#db.transaction(() => {
      this.#db.run("DELETE FROM channel_outgoing WHERE state IN ('sent', 'lost') AND created < ?", before);
      this.#db.run("DELETE FROM channel_work WHERE answered = 1 AND created < ?", before);
      this.drafts.prune();
      this.waiting.prune();
      this.answers.prune(before);
    });
  }
}

function placeOfRow({ channel, address, is_group, thread, reply }: PlaceRow): Place {
  return {
    channel,
    address,
    isGroup: is_group === 1,
    ...defined({ thread: thread ?? undefined, reply: reply ?? undefined }),
  };
}
