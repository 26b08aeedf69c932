/** Events in a database that several hosts share: what is added while a statement runs is one statement together. */
import { isPagurusError } from "@pagurus/contract/errors";
import { sleep } from "@pagurus/core/platform/deadline";
import type { Database } from "../connections.ts";
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
} from "@pagurus/inbox/event-log";
import { placeDigest, type FeedListener, type WorkFeed } from "./work-feed.ts";
import { eventOf, type EventRow } from "@pagurus/inbox/rows";

/** Pause before events that could not be stored are tried again, ms. */
const RETRY_MS = 500;
const EVENTS_AT_ONCE = 500;

/**
 * Stores events of work that this host has; those of work that another host took over are left out. A try whose connection was cut may have
 * stored all of them: then one of them is there, after the last that this host knows (`$5`), and nothing is stored again.
 */
const ADD = `WITH asked AS (SELECT * FROM json_to_recordset($3::json) AS x(n int, work text, place text, type text, data text)),
 live AS (SELECT id, agent, session FROM {s}.work WHERE tenant = current_user AND host = $4 AND state <> 'ended'
   AND id IN (SELECT work FROM asked) ORDER BY id FOR SHARE),
 known AS (SELECT FROM asked JOIN live ON live.id = asked.work JOIN {s}.events AS e
   ON e.tenant = current_user AND e.work = asked.work AND e.seq > $5 AND e.type = asked.type AND e.data = asked.data LIMIT 1),
 taken AS (SELECT asked.*, agent, session, row_number() OVER (ORDER BY n) AS at FROM asked JOIN live ON live.id = asked.work
   WHERE NOT EXISTS (SELECT FROM known)),
 counter AS (UPDATE {s}.counters SET events = events + (SELECT count(*) FROM taken)
   WHERE tenant = current_user AND EXISTS (SELECT FROM taken) RETURNING events, events - (SELECT count(*) FROM taken) AS base),
 event AS (INSERT INTO {s}.events (seq, work, agent, session, type, data)
   SELECT base + at, work, agent, session, type, data FROM taken, counter)
 SELECT pg_notify($1, $2 || ' ' || place || ' ' || work), events::float8 AS last
 FROM (SELECT DISTINCT place, work FROM taken) AS works, counter`;

interface Flush {
  /** Resolves when so many events are stored. */
  last: number;
  resolve(): void;
}

type Key = Omit<NewEvent, "type" | "data">;
/** `text`: its data as JSON. */
type WrittenEvent = NewEvent & { text: string };

export class SharedEvents implements EventLog {
  readonly #database: Database;
  readonly #feed: WorkFeed;
  readonly #host: string;
  readonly #readers = new EventReaders();
  readonly #closing = new AbortController();
  #pending: NewEvent[] = [];
  /** Taken from the pending ones; kept as it is until it is stored, for a try that failed may have stored it. */
  #batch: readonly WrittenEvent[] = [];
  #writing: Promise<void> | undefined;
  /** Number of events that were added, and that were stored, so far. */
  #added = 0;
  #written = 0;
  #flushes: Flush[] = [];
  /** Number of an event of the past; every event of this host before the next ones has at most this. */
  #last: number | undefined;
  /** Deltas of work that ended before this are removed, ms since the epoch. */
  #prunedTo = 0;
  /** Called when questions may have answers. */
  onAnswers: () => void = () => undefined;

  constructor(parts: { database: Database; feed: WorkFeed; host: string }) {
    this.#database = parts.database;
    this.#feed = parts.feed;
    this.#host = parts.host;
  }

  /** Begins to receive what the other hosts do. */
  start(watcher: Pick<FeedListener, "look" | "left" | "lost">): void {
    this.#feed.start({
      ...watcher,
      events: (work) => (work ? this.#readers.wakePlace(work, placeDigest) : this.#readers.wakeAll()),
      stored: (works) => this.stored(works),
      answers: () => this.onAnswers(),
    });
  }

  add(event: NewEvent): void {
    const both = joined(this.#pending.at(-1), event);
    if (both) this.#pending[this.#pending.length - 1] = both;
    else {
      this.#pending.push(event);
      this.#added += 1;
    }
    this.#writing ??= this.#write();
  }

  async #write(): Promise<void> {
    await new Promise(setImmediate);
    while (this.#batch.length + this.#pending.length > 0 && !this.#closing.signal.aborted) {
      if (this.#batch.length === 0) this.#batch = this.#take();
      try {
        await this.#insert(this.#batch);
        this.#written += this.#batch.length;
        this.stored(this.#batch);
        this.#batch = [];
        this.#settle();
      } catch (error) {
        if (!isPagurusError(error)) throw error;
        // It is kept in memory until the database is back.
        await sleep(RETRY_MS, this.#closing.signal).catch(() => undefined);
      }
    }
    this.#writing = undefined;
  }

  /** The next events of one statement, which ends with the first long one. */
  #take(): WrittenEvent[] {
    const taken: WrittenEvent[] = [];
    let characters = 0;
    for (const event of this.#pending) {
      if (taken.length >= EVENTS_AT_ONCE || characters >= PAGE_CHARACTERS) break;
      const text = eventText(event.data);
      characters += text.length;
      taken.push({ ...event, text });
    }
    this.#pending.splice(0, taken.length);
    return taken;
  }

  async #insert(events: readonly WrittenEvent[]): Promise<void> {
    const rows = events.map(({ workId, type, text, ...place }, n) => ({
      n,
      work: workId,
      place: placeDigest(place),
      type,
      data: text,
    }));
    this.#last ??= await this.newest();
    const values = [this.#feed.channel, `events ${this.#host}`, JSON.stringify(rows), this.#host, this.#last];
    const [stored] = await this.#database.rows<{ last: number }>("store_write_failed", ADD, values);
    this.#last = stored?.last;
  }

  /** Events of this host are stored. */
  stored(events: readonly Key[]): void {
    this.#readers.wake(events);
  }

  /** Events that are added meanwhile are not waited for. */
  async flush(): Promise<void> {
    const last = this.#added;
    if (this.#written >= last) return;
    await new Promise<void>((resolve) => this.#flushes.push({ last, resolve }));
  }

  #settle(): void {
    const isOver = ({ last }: Flush): boolean => this.#written >= last || this.#closing.signal.aborted;
    for (const { resolve } of this.#flushes.filter(isOver)) resolve();
    this.#flushes = this.#flushes.filter((flush) => !isOver(flush));
  }

  async newest(): Promise<number> {
    const [row] = await this.#database.rows<{ events: number }>(
      "store_read_failed",
      "SELECT events::float8 AS events FROM {s}.counters WHERE tenant = current_user",
      [],
    );
    return row?.events ?? 0;
  }

  async after(seq: number, { agentId, sessionKey, workId }: EventFilter): Promise<StoredEvent[]> {
    const values: unknown[] = [seq];
    const tests = ["tenant = current_user", "seq > $1"];
    for (const [column, value] of [
      ["work", workId],
      ["agent", agentId],
      ["session", sessionKey],
    ] as const)
      if (value !== undefined) tests.push(`${column} = $${values.push(value)}`);
    const rows = await this.#database.rows<EventRow>(
      "store_read_failed",
      `SELECT seq::float8 AS seq, work, agent, session, type, data FROM
       (SELECT *, sum(octet_length(data)) OVER (ORDER BY seq) - octet_length(data) AS before FROM
         (SELECT seq, work, agent, session, type, data FROM {s}.events
          WHERE ${tests.join(" AND ")} ORDER BY seq LIMIT ${EVENT_PAGE}) AS page) AS summed
       WHERE before < ${PAGE_CHARACTERS} ORDER BY seq`,
      values,
    );
    return rows.map(eventOf);
  }

  follow(after: number, filter: EventFilter, signal: AbortSignal): AsyncGenerator<StoredEvent> {
    return this.#readers.follow({ after, filter, signal }, (seq) => this.#afterInTime(seq, filter, signal));
  }

  /** A reader waits while the database is away. */
  async #afterInTime(seq: number, filter: EventFilter, signal: AbortSignal): Promise<StoredEvent[]> {
    while (!signal.aborted) {
      try {
        return await this.after(seq, filter);
      } catch (error) {
        if (!isPagurusError(error)) throw error;
        await sleep(RETRY_MS, signal).catch(() => undefined);
      }
    }
    return [];
  }

  async prune(endedBefore: number): Promise<number> {
    const removed = await this.#database.rows(
      "store_write_failed",
      `DELETE FROM {s}.events WHERE tenant = current_user AND type = ANY($1)
       AND work IN (SELECT id FROM {s}.work WHERE tenant = current_user AND state = 'ended' AND ended >= $2 AND ended < $3)
       RETURNING seq`,
      [PASSING_EVENTS, this.#prunedTo, endedBefore],
    );
    this.#prunedTo = endedBefore;
    return removed.length;
  }

  /** Events that could not be stored within the time are lost. */
  async close(waitMs: number): Promise<void> {
    const timer = setTimeout(() => this.#closing.abort(), waitMs);
    await this.#writing;
    clearTimeout(timer);
    this.#closing.abort();
    this.#settle();
  }
}
