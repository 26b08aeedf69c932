/** Events in the server's own database; those of one moment are written in one transaction. */
import type { Database } from "../data/sqlite.ts";
import {
  EVENT_PAGE,
  EventReaders,
  joined,
  PASSING_EVENTS,
  type EventFilter,
  type EventLog,
  type NewEvent,
  type StoredEvent,
} from "./event-log.ts";
import { eventOf, type EventRow } from "./rows.ts";

export class LocalEvents implements EventLog {
  readonly #db: Database;
  readonly #readers = new EventReaders();
  #pending: NewEvent[] = [];
  /** Events since the readers were woken. */
  #unseen: NewEvent[] = [];
  /** Deltas of work that ended before this are removed, ms since the epoch. */
  #prunedTo = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  add(event: NewEvent): void {
    if (this.#pending.length === 0) setImmediate(() => this.flush());
    const last = this.#pending.at(-1);
    const both = joined(last, event);
    if (both) this.#pending[this.#pending.length - 1] = both;
    else this.#pending.push(event);
  }

  /** Throws SQLite's errors: what cannot be stored must not be sent. */
  flush(): void {
    const events = this.#pending;
    if (events.length === 0) return;
    this.#pending = [];
    this.#db.unsynced(() => {
      for (const event of events) this.#insert(event);
    });
    this.written();
  }

  /** Stores an event in the caller's transaction, after all that came before it; `written` follows. */
  insert(event: NewEvent): void {
    const before = this.#pending;
    this.#pending = [];
    for (const each of before) this.#insert(each);
    this.#insert(event);
  }

  #insert(event: NewEvent): void {
    const { workId, agentId, sessionKey, type, data } = event;
    this.#unseen.push(event);
    this.#db.run(
      "INSERT INTO events (work, agent, session, type, data) VALUES (?, ?, ?, ?, ?)",
      workId,
      agentId,
      sessionKey,
      type,
      JSON.stringify(data),
    );
  }

  /** Wakes the readers of what was stored: with many of them, each look into the file counts. */
  written(): void {
    const events = this.#unseen;
    this.#unseen = [];
    this.#readers.wake(events);
  }

  newest(): number {
    return this.#db.get<{ seq: number | null }>("SELECT max(seq) AS seq FROM events")?.seq ?? 0;
  }

  after(seq: number, { agentId, sessionKey, workId }: EventFilter): StoredEvent[] {
    const tests = [
      ["work = ?", workId],
      ["agent = ?", agentId],
      ["session = ?", sessionKey],
    ].filter((test): test is [string, string] => test[1] !== undefined);
    const where = ["seq > ?", ...tests.map(([test]) => test)].join(" AND ");
    const values = tests.map(([, value]) => value);
    return this.#db
      .all<EventRow>(`SELECT * FROM events WHERE ${where} ORDER BY seq LIMIT ${EVENT_PAGE}`, seq, ...values)
      .map(eventOf);
  }

  follow(after: number, filter: EventFilter, signal: AbortSignal): AsyncGenerator<StoredEvent> {
    return this.#readers.follow({ after, filter, signal }, (seq) => this.after(seq, filter));
  }

  prune(endedBefore: number): number {
    const removed = this.#db.run(
      `DELETE FROM events WHERE type IN (${PASSING_EVENTS.map(() => "?").join(", ")})
       AND work IN (SELECT id FROM work WHERE state = 'ended' AND ended >= ? AND ended < ?)`,
      ...PASSING_EVENTS,
      this.#prunedTo,
      endedBefore,
    );
    this.#prunedTo = endedBefore;
    return removed;
  }
}
