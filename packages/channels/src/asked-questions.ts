/**
 * Permission questions as they were shown: where, with which number, and a digest of what would be allowed. Each is a message of ours, so its
 * record is that of the message. An answer is taken for the question that its writer saw, and for no other one.
 */
import { createHash, randomInt } from "node:crypto";
import type { Database } from "@pagurus/core/data/sqlite";
import { addressKey } from "./address-key.ts";
import { defined } from "@pagurus/core/data/defined";

/** Columns of `channel_outgoing` that a question has. */
export const QUESTION_COLUMNS = "code TEXT, digest TEXT, is_whole INTEGER, answered_by TEXT";
const INDEX =
  "CREATE INDEX IF NOT EXISTS channel_outgoing_asked ON channel_outgoing (channel, seq) WHERE code IS NOT NULL";

/** Time after which a question no longer makes a plain yes to a later one ambiguous, ms. */
const REMEMBERED_MS = 24 * 60 * 60_000;
const SHORT_CODES = { from: 100, to: 1_000 };
const LONG_CODES = { from: 100_000, to: 1_000_000_000 };
const ASK_TRIES = 30;
const SUFFIX = "-ask";

/** The conversation in which a question is shown. */
export interface QuestionPlace {
  channel: string;
  address: string;
  isGroup: boolean;
  thread?: string;
}

/** How a question is shown. */
export interface ShownQuestion {
  code: string;
  /** Of what a yes allows. */
  digest: string;
  /** Whether all of it was shown. */
  isWhole: boolean;
}

export interface AskedQuestion extends Partial<ShownQuestion> {
  id: string;
  place: QuestionPlace;
  seq: number;
  /** Whether it was sent, or is being sent: a person may answer before the service has confirmed it. */
  isSent: boolean;
  /** When its sending began, ms since the epoch; 0 before that. */
  sentAt: number;
}

interface Row {
  seq: number;
  id: string;
  channel: string;
  address: string;
  is_group: number;
  thread: string | null;
  state: string;
  created: number;
  tried: number | null;
  code: string | null;
  digest: string | null;
  is_whole: number | null;
  answered_by: string | null;
}

/** Digest of what a yes would allow. */
export function questionDigest(summary: string): string {
  return createHash("sha256").update(summary).digest("base64url");
}

/** Id of the message that asks a permission question. */
export function messageOfQuestion(questionId: string): string {
  return `${questionId}${SUFFIX}`;
}

/** Id of the question that a message asks; undefined for the id of any other message. */
export function questionOfMessage(id: string): string | undefined {
  return id.endsWith(SUFFIX) ? id.slice(0, -SUFFIX.length) : undefined;
}

export function isSameAddress(one: QuestionPlace, other: QuestionPlace): boolean {
  return (
    one.channel === other.channel &&
    one.isGroup === other.isGroup &&
    addressKey(one.address) === addressKey(other.address)
  );
}

/** Whether two places are the same conversation with the same person or group. */
export function isSamePlace(one: QuestionPlace, other: QuestionPlace): boolean {
  return isSameAddress(one, other) && one.thread === other.thread;
}

function askedOf(row: Row): AskedQuestion {
  const { seq, channel, address, is_group, thread, code, digest, is_whole } = row;
  return {
    id: questionOfMessage(row.id) ?? row.id,
    place: { channel, address, isGroup: is_group === 1, ...defined({ thread: thread ?? undefined }) },
    seq,
    isSent: row.state === "sending" || row.state === "sent",
    sentAt: row.state === "waiting" ? 0 : (row.tried ?? row.created),
    ...(code === null || digest === null ? {} : { code, digest, isWhole: is_whole === 1 }),
  };
}

export class AskedQuestions {
  readonly #db: Database;
  readonly #now: () => number;

  /** The table of outgoing messages has its columns. */
  constructor(db: Database, now: () => number) {
    this.#db = db;
    this.#now = now;
    db.raw.exec(INDEX);
  }

  /** A number that no other question of the place has. It cannot be guessed, so a yes with it was written after the question was shown. */
  codeFor(place: QuestionPlace): string {
    for (let tries = 0; ; tries += 1) {
      const { from, to } = tries < ASK_TRIES ? SHORT_CODES : LONG_CODES;
      const code = String(randomInt(from, to));
      if (!this.byCode(place, code)) return code;
    }
  }

  /** In the transaction that queues the message. */
  add(question: string, { code, digest, isWhole }: ShownQuestion): void {
    this.#db.run(
      "UPDATE channel_outgoing SET code = ?, digest = ?, is_whole = ? WHERE id = ?",
      code,
      digest,
      isWhole ? 1 : 0,
      messageOfQuestion(question),
    );
  }

  find(question: string): AskedQuestion | undefined {
    const id = messageOfQuestion(question);
    const row = this.#db.get<Row>("SELECT * FROM channel_outgoing WHERE id = ?", id);
    return row && askedOf(row);
  }

  byCode(place: QuestionPlace, code: string): AskedQuestion | undefined {
    return this.#of(place).find((asked) => asked.code === code);
  }

  /** In the transaction that records the answer. */
  answered(question: string, person: string): void {
    const update = "UPDATE channel_outgoing SET answered_by = ? WHERE id = ?";
    this.#db.run(update, addressKey(person), messageOfQuestion(question));
  }

  /**
   * Whether a plain yes of a person could mean another question of the place: one that was shown there after the last one that this
   * person has answered.
   */
  isAmbiguous({ id, place }: AskedQuestion, person: string): boolean {
    const key = addressKey(person);
    const all = this.#of(place, this.#now() - REMEMBERED_MS);
    const answered = all.findLastIndex(({ answeredBy }) => answeredBy === key);
    return all.slice(answered + 1).some((other) => other.id !== id && other.sentAt > 0);
  }

  /** Questions of a place since a time, ms since the epoch, oldest first. */
  #of(place: QuestionPlace, since = 0): (AskedQuestion & { answeredBy: string | null })[] {
    const rows = this.#db.all<Row>(
      "SELECT * FROM channel_outgoing WHERE channel = ? AND code IS NOT NULL AND created > ? ORDER BY seq",
      place.channel,
      since,
    );
    return rows
      .map((row) => ({ ...askedOf(row), answeredBy: row.answered_by }))
      .filter((asked) => isSamePlace(asked.place, place));
  }
}
