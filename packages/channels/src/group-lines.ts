/** What was written in groups since the host was last spoken to there: context of the next turn, bounded. */
import type { Database } from "@pagurus/core/data/sqlite";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS channel_lines (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, channel TEXT NOT NULL, address TEXT NOT NULL, sender TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS channel_lines_of ON channel_lines (channel, address, seq);`;

/** Messages that are kept of one group. */
const MOST_GROUP_LINES = 30;
const MOST_CHARS = 1_000;

export interface GroupLine {
  seq: number;
  /** Name and address, safe to show. */
  sender: string;
  text: string;
}

export class GroupLines {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
    db.raw.exec(SCHEMA);
  }

  /** In the transaction that moves the cursor. */
  add(channel: string, group: string, { sender, text }: Omit<GroupLine, "seq">): void {
    const cut = text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS).toWellFormed()} […]` : text;
    this.#db.run(
      "INSERT INTO channel_lines (channel, address, sender, text) VALUES (?, ?, ?, ?)",
      channel,
      group,
      sender,
      cut,
    );
    this.#db.run(
      `DELETE FROM channel_lines WHERE channel = ? AND address = ? AND seq <=
       (SELECT seq FROM channel_lines WHERE channel = ? AND address = ? ORDER BY seq DESC LIMIT 1 OFFSET ${MOST_GROUP_LINES})`,
      channel,
      group,
      channel,
      group,
    );
  }

  /** Oldest first. */
  of(channel: string, group: string): GroupLine[] {
    return this.#db.all<GroupLine>(
      "SELECT seq, sender, text FROM channel_lines WHERE channel = ? AND address = ? ORDER BY seq",
      channel,
      group,
    );
  }

  /** In the transaction that accepts the turn that has them. */
  remove(channel: string, group: string, upTo: number): void {
    this.#db.run(
      "DELETE FROM channel_lines WHERE channel = ? AND address = ? AND seq <= ?",
      channel,
      group,
      upTo,
    );
  }
}
