/**
 * Messages that answered a permission question. A service may deliver one again: it must neither answer the next question nor become
 * a turn.
 */
import type { Database } from "../data/sqlite.ts";
import type { MessageOrigin } from "./waiting-messages.ts";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS channel_answers (
  channel TEXT NOT NULL, message TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (channel, message));`;

export class GivenAnswers {
  readonly #db: Database;
  readonly #now: () => number;

  constructor(db: Database, now: () => number) {
    this.#db = db;
    this.#now = now;
    db.raw.exec(SCHEMA);
  }

  /** In the transaction that answers the question. */
  add({ channel, message }: MessageOrigin): void {
    const insert = "INSERT OR IGNORE INTO channel_answers (channel, message, at) VALUES (?, ?, ?)";
    this.#db.run(insert, channel, message, this.#now());
  }

  has({ channel, message }: MessageOrigin): boolean {
    const select = "SELECT 1 FROM channel_answers WHERE channel = ? AND message = ?";
    return this.#db.get(select, channel, message) !== undefined;
  }

  /** Removes those before a time, ms since the epoch. */
  prune(before: number): void {
    this.#db.run("DELETE FROM channel_answers WHERE at < ?", before);
  }
}
