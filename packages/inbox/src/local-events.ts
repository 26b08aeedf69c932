/** Events in the server's own database; those of one moment are written in one transaction. */
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import type { Database } from "@pagurus/core/data/sqlite";
import { silentLogger, type Logger } from "@pagurus/core/platform/log";
import { LONG_BYTES, nextSlice } from "@pagurus/core/platform/pace";
import {
  EVENT_PAGE,
  PAGE_CHARACTERS,
  EventReaders,
  eventText,
  joined,
  PASSING_EVENTS,
  type EventFilter,
  type EventLog,
  type NewEvent,
  type StoredEvent,
} from "./event-log.ts";
import { eventOf, type EventRow } from "./rows.ts";

/** Pause before events that could not be stored are tried again, ms. */
const RETRY_MS = 500;
/** Works that a line of the log names. */
const MOST_NAMED_SESSIONS = 8;

export class LocalEvents implements EventLog {
  readonly #db: Database;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #readers = new EventReaders();
  #pending: NewEvent[] = [];
  /** Pending events that the transaction under way stores. */
  #taken: NewEvent[] = [];
  /** Events of that transaction whose readers are woken after it. */
  #unseen: NewEvent[] = [];
  /** Characters of the data of `#unseen`. */
  #bytes = 0;
  #isStoring = false;
  #isClosed = false;
  /** The next try to store what could not be stored. */
  #retry: (() => void) | undefined;
  /** Deltas of work that ended before this are removed, ms since the epoch. */
  #prunedTo = 0;

  constructor(db: Database, logger: Logger = silentLogger, clock: Clock = SYSTEM_CLOCK) {
    this.#db = db;
    this.#logger = logger;
    this.#clock = clock;
  }

  add(event: NewEvent): void {
    // A slice of its own: an event with an image is written and committed for as long as it was made.
    if (this.#pending.length === 0) void nextSlice().then(() => this.#flushLater());
    const last = this.#pending.at(-1);
    const both = joined(last, event);
    if (both) this.#pending[this.#pending.length - 1] = both;
    else this.#pending.push(event);
  }

  /** Throws SQLite's errors: what cannot be stored must not be sent. It stays pending then. */
  flush(): void {
    if (this.#pending.length > 0) this.storing(() => this.#db.unsynced(() => this.#insertPending()));
  }

  /** No caller waits for this flush: a full disk must not end the process, so it is tried again. */
  #flushLater(): void {
    if (this.#retry || this.#isClosed) return;
    try {
      this.flush();
    } catch (error) {
      const { errcode } = error as { errcode?: unknown };
      const works = new Set(this.#pending.map(({ workId }) => workId));
      this.#logger.error("events not stored", {
        events: this.#pending.length,
        works: [...works].slice(0, MOST_NAMED_SESSIONS).join(" "),
        ...(typeof errcode === "number" ? { errcode } : {}),
      });
      this.#tryLater();
    }
  }

  /** What cannot be stored now is lost. */
  close(): void {
    this.#cancelRetry();
    this.#flushLater();
    this.#cancelRetry();
    this.#isClosed = true;
  }

  #cancelRetry(): void {
    this.#retry?.();
    this.#retry = undefined;
  }

  #tryLater(): void {
    const again = (): void => {
      this.#retry = undefined;
      this.#flushLater();
    };
    this.#retry = this.#clock.after(RETRY_MS, again, { ref: false });
  }

  /** Runs a transaction that calls `insert`, and wakes the readers after it; where it fails, what was pending is pending again. */
  storing<T>(transaction: () => T): T {
    if (this.#isStoring) return transaction();
    this.#isStoring = true;
    let isStored = false;
    try {
      const result = transaction();
      isStored = true;
      return result;
    } finally {
      this.#isStoring = false;
      this.#stored(isStored);
    }
  }

  #stored(isStored: boolean): void {
    const [taken, unseen, isLong] = [this.#taken, this.#unseen, this.#bytes > LONG_BYTES];
    this.#bytes = 0;
    this.#taken = [];
    this.#unseen = [];
    // With many of them, each look into the file counts.
    if (isStored && !isLong) return this.#readers.wake(unseen);
    // Reading the events takes as long as writing them did.
    if (isStored) return void this.#readers.wakeInTurn(unseen);
    if (taken.length === 0) return;
    this.#pending = [...taken, ...this.#pending];
    setImmediate(() => this.#flushLater());
  }

  /** Stores an event after all that came before it, in a transaction within `storing`. */
  insert(event: NewEvent): void {
    this.#insertPending();
    this.#insert(event);
  }

  #insertPending(): void {
    const events = this.#pending;
    this.#pending = [];
    this.#taken = this.#taken.concat(events);
    for (const each of events) this.#insert(each);
  }

  #insert(event: NewEvent): void {
    const { workId, agentId, sessionKey, type, data } = event;
    const text = eventText(data);
    this.#unseen.push(event);
    this.#bytes += text.length;
    this.#db.run(
      "INSERT INTO events (work, agent, session, type, data) VALUES (?, ?, ?, ?, ?)",
      workId,
      agentId,
      sessionKey,
      type,
      text,
    );
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
    const rows: EventRow[] = [];
    let characters = 0;
    const sql = `SELECT * FROM events WHERE ${where} ORDER BY seq LIMIT ${EVENT_PAGE}`;
    for (const row of this.#db.each<EventRow>(sql, seq, ...values)) {
      rows.push(row);
      characters += row.data.length;
      if (characters >= PAGE_CHARACTERS) break;
    }
    return rows.map(eventOf);
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
