/**
 * Messages that answered a permission question. A service may deliver one again: it must neither answer the next question nor become
 * a turn.
 */
import type { Database } from "@pagurus/core/data/sqlite";
import type { MessageOrigin } from "./waiting-messages.ts";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS channel_answers (
  channel TEXT NOT NULL, message TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (channel, message));
CREATE TABLE IF NOT EXISTS channel_answers_begun (
  channel TEXT NOT NULL, message TEXT NOT NULL, question TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (channel, message));`;

export class GivenAnswers {
  readonly #db: Database;
  readonly #now: () => number;

  constructor(db: Database, now: () => number) {
    this.#db = db;
    this.#now = now;
    db.raw.exec(SCHEMA);
  }

  /** Before the question is answered: with a shared inbox a crash may come between its answer and `add`. */
  begin({ channel, message }: MessageOrigin, question: string): void {
    const insert =
      "INSERT OR IGNORE INTO channel_answers_begun (channel, message, question, at) VALUES (?, ?, ?, ?)";
    this.#db.run(insert, channel, message, question, this.#now());
  }

  /** Id of the question that a message has begun to answer. */
  begun({ channel, message }: MessageOrigin): string | undefined {
    const select = "SELECT question FROM channel_answers_begun WHERE channel = ? AND message = ?";
    return this.#db.get<{ question: string }>(select, channel, message)?.question;
  }

  /** In the transaction that answers the question, or after it. */
  add({ channel, message }: MessageOrigin): void {
    const insert = "INSERT OR IGNORE INTO channel_answers (channel, message, at) VALUES (?, ?, ?)";
    this.#db.run(insert, channel, message, this.#now());
    this.#db.run("DELETE FROM channel_answers_begun WHERE channel = ? AND message = ?", channel, message);
  }

  has({ channel, message }: MessageOrigin): boolean {
    const select = "SELECT 1 FROM channel_answers WHERE channel = ? AND message = ?";
    return this.#db.get(select, channel, message) !== undefined;
  }

  /** Removes those before a time, ms since the epoch. */
  prune(before: number): void {
    this.#db.run("DELETE FROM channel_answers WHERE at < ?", before);
    this.#db.run("DELETE FROM channel_answers_begun WHERE at < ?", before);
  }
}
