/**
 * Which answers have a message that grows while they are written. The record is made before the first such message is sent, so that
 * the final answer replaces it also after a crash.
 */
import type { Database } from "@pagurus/core/data/sqlite";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS channel_drafts (work TEXT PRIMARY KEY, is_sent INTEGER NOT NULL, created INTEGER NOT NULL);`;

export interface DraftRecord {
  /** Id of the message. */
  id: string;
  /** False: its sending began, and may not have succeeded. */
  isSent: boolean;
  /** Milliseconds since the epoch. */
  createdAt: number;
}

export class DraftRecords {
  readonly #db: Database;
  readonly #now: () => number;

  constructor(db: Database, now: () => number) {
    this.#db = db;
    this.#now = now;
    db.raw.exec(SCHEMA);
  }

  find(workId: string): DraftRecord | undefined {
    const row = this.#db.get<{ is_sent: number; created: number }>(
      "SELECT is_sent, created FROM channel_drafts WHERE work = ?",
      workId,
    );
    return row && { id: `${workId}-d`, isSent: row.is_sent === 1, createdAt: row.created };
  }

  begin(workId: string): DraftRecord {
    const createdAt = this.#now();
    this.#db.run("INSERT INTO channel_drafts (work, is_sent, created) VALUES (?, 0, ?)", workId, createdAt);
    return { id: `${workId}-d`, isSent: false, createdAt };
  }

  sent(workId: string): void {
    this.#db.run("UPDATE channel_drafts SET is_sent = 1 WHERE work = ?", workId);
  }

  /** Removes those of work whose record was removed: the inbox may be in another database. */
  prune(): void {
    this.#db.run("DELETE FROM channel_drafts WHERE work NOT IN (SELECT work FROM channel_work)");
  }
}
