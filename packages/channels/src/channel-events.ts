/** What happened to a channel, for `pagurus channels logs`: ids and reasons, never a text. */
import type { Database } from "@pagurus/core/data/sqlite";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS channel_events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, channel TEXT NOT NULL, at INTEGER NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL,
  times INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS channel_events_of ON channel_events (channel, seq);`;

/** Events that are kept of each channel. */
const KEPT_EVENTS = 500;

/**
 * `cut`: the connection ended or could not be made; `missed`: what may not have arrived here; `refused`: the service will not take a message, or the host
 * will not, as too many wait;
 * `lost`: a message may not have arrived there; `sent`: one is with the service.
 */
export type ChannelEventKind = "connected" | "cut" | "missed" | "refused" | "lost" | "sent" | "held";

export interface ChannelEvent {
  channel: string;
  /** Milliseconds since the epoch; of the last one where it happened several times. */
  at: number;
  what: ChannelEventKind;
  /** A reason, a promise or the id of a message. */
  detail: string;
  /** How often in a row. */
  times: number;
}

export class ChannelEvents {
  readonly #db: Database;
  readonly #now: () => number;

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
    db.raw.exec(SCHEMA);
  }

  note(channel: string, what: ChannelEventKind, detail: string): void {
    this.#db.unsynced(() => {
      const last = this.#db.get<{ seq: number; what: string; detail: string }>(
        "SELECT * FROM channel_events WHERE channel = ? ORDER BY seq DESC LIMIT 1",
        channel,
      );
      if (last?.what === what && last.detail === detail) {
        this.#db.run(
          "UPDATE channel_events SET times = times + 1, at = ? WHERE seq = ?",
          this.#now(),
          last.seq,
        );
        return;
      }
      this.#db.run(
        "INSERT INTO channel_events (channel, at, what, detail, times) VALUES (?, ?, ?, ?, 1)",
        channel,
        this.#now(),
        what,
        detail,
      );
      this.#db.run(
        `DELETE FROM channel_events WHERE channel = ? AND seq <=
         (SELECT seq FROM channel_events WHERE channel = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)`,
        channel,
        channel,
        KEPT_EVENTS,
      );
    });
  }

  /** The last events, oldest first; of all channels where none is named. */
  last(count: number, channel?: string): ChannelEvent[] {
    return this.#db
      .all<ChannelEvent>(
        "SELECT channel, at, what, detail, times FROM channel_events WHERE channel = ? OR ? IS NULL ORDER BY seq DESC LIMIT ?",
        channel ?? null,
        channel ?? null,
        count,
      )
      .toReversed();
  }
}
