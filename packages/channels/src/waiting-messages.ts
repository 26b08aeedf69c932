/**
 * Whose messages wait for their answers, so that no one queues without a limit. A row is made in the transaction that accepts a message and
 * kept as long as the channel's record of its work: a repeat of the message is known by it.
 */
import type { Database } from "@pagurus/core/data/sqlite";
import { addressKey } from "./address-key.ts";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS channel_messages (
  work TEXT PRIMARY KEY, channel TEXT NOT NULL, message TEXT NOT NULL, person TEXT NOT NULL, session TEXT NOT NULL,
  waits INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS channel_messages_by_id ON channel_messages (channel, message);
CREATE INDEX IF NOT EXISTS channel_messages_of_person ON channel_messages (channel, person) WHERE waits = 1;
CREATE INDEX IF NOT EXISTS channel_messages_of_session ON channel_messages (channel, session) WHERE waits = 1;
CREATE TABLE IF NOT EXISTS channel_refusals (
  channel TEXT NOT NULL, whose TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (channel, whose, name));`;

const COUNTS = {
  person: "SELECT count(*) AS n FROM channel_messages WHERE channel = ? AND person = ? AND waits = 1",
  session: "SELECT count(*) AS n FROM channel_messages WHERE channel = ? AND session = ? AND waits = 1",
} as const;
const UNSENT =
  "SELECT count(*) AS n FROM channel_outgoing WHERE channel = ? AND address = ? AND state IN ('waiting', 'sending')";

/** Where a message comes from. */
export interface MessageOrigin {
  channel: string;
  /** The service's id of the message. */
  message: string;
  /** Address of its sender. */
  person: string;
  session: string;
}

/** Messages that may wait, of one person and in one session. */
export type WaitingLimits = Readonly<Record<keyof typeof COUNTS, number>>;

export class WaitingMessages {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
    db.raw.exec(SCHEMA);
  }

  /** In the transaction that accepts the message. */
  add(workId: string, { channel, message, person, session }: MessageOrigin): void {
    const names = { person: addressKey(person), session };
    this.#db.run(
      "INSERT OR IGNORE INTO channel_messages (work, channel, message, person, session, waits) VALUES (?, ?, ?, ?, ?, 1)",
      workId,
      channel,
      message,
      names.person,
      session,
    );
    // After a queue was empty, its next refusal is worth a word again.
    for (const whose of ["person", "session"] as const)
      if (this.#count(whose, channel, names[whose]) === 1)
        this.#db.run(
          "DELETE FROM channel_refusals WHERE channel = ? AND whose = ? AND name = ?",
          channel,
          whose,
          names[whose],
        );
  }

  /** In the transaction that queues the answer. */
  end(workId: string): void {
    this.#db.run("UPDATE channel_messages SET waits = 0 WHERE work = ?", workId);
  }

  #count(whose: keyof WaitingLimits, channel: string, name: string): number {
    return this.#db.get<{ n: number }>(COUNTS[whose], channel, name)?.n ?? 0;
  }

  /** Messages of ours that are still to be sent to an address. */
  unsent({ channel, address }: { channel: string; address: string }): number {
    return this.#db.get<{ n: number }>(UNSENT, channel, address)?.n ?? 0;
  }

  /** Whose queue has no space for the message; undefined where it can be accepted, and for one that was before. */
  full(
    { channel, message, person, session }: MessageOrigin,
    limits: WaitingLimits,
  ): keyof WaitingLimits | undefined {
    const names = { person: addressKey(person), session };
    const full = (["person", "session"] as const).find(
      (whose) => this.#count(whose, channel, names[whose]) >= limits[whose],
    );
    return full === undefined || this.isTaken({ channel, message }) ? undefined : full;
  }

  /** Whether the message was accepted before as work. */
  isTaken({ channel, message }: Pick<MessageOrigin, "channel" | "message">): boolean {
    const known = "SELECT 1 FROM channel_messages WHERE channel = ? AND message = ?";
    return this.#db.get(known, channel, message) !== undefined;
  }

  /** Records a refusal; true for the first one since the queue was empty. */
  refuse(whose: keyof WaitingLimits, { channel, person, session }: MessageOrigin): boolean {
    const name = whose === "person" ? addressKey(person) : session;
    const insert = "INSERT OR IGNORE INTO channel_refusals (channel, whose, name) VALUES (?, ?, ?)";
    return this.#db.run(insert, channel, whose, name) > 0;
  }

  /** Removes those of work whose record was removed: the inbox may be in another database. */
  prune(): void {
    this.#db.run(
      "DELETE FROM channel_messages WHERE waits = 0 AND work NOT IN (SELECT work FROM channel_work)",
    );
  }
}
