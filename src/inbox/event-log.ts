/**
 * Events of work, with ids that a client can resume from. An event is stored before anyone gets it, so an id never means another
 * event after a crash. Events of one moment are written in one transaction.
 */
import type { Database } from "../data/sqlite.ts";

export interface NewEvent {
  workId: string;
  agentId: string;
  sessionKey: string;
  type: string;
  data: object;
}

export interface StoredEvent extends NewEvent {
  /** Rises with each event of the server. */
  seq: number;
}

/** Which events a reader wants; without a member, all. */
export interface EventFilter {
  agentId?: string | undefined;
  sessionKey?: string | undefined;
  workId?: string | undefined;
}

interface EventRow {
  seq: number;
  work: string;
  agent: string;
  session: string;
  type: string;
  data: string;
}

const PAGE = 256;
/** Events that are only of use while a turn runs. */
const PASSING = ["text.delta", "thinking.delta", "tool.output"];

function eventOf({ seq, work, agent, session, type, data }: EventRow): StoredEvent {
  return {
    seq,
    workId: work,
    agentId: agent,
    sessionKey: session,
    type,
    data: JSON.parse(data) as object,
  };
}

/** Two neighbouring deltas of one work are one event. */
function joined(last: NewEvent | undefined, next: NewEvent): NewEvent | undefined {
  if (last === undefined || last.workId !== next.workId || last.type !== next.type) return undefined;
  if (next.type !== "text.delta" && next.type !== "thinking.delta") return undefined;
  const [one, other] = [last.data, next.data] as { delta: string }[];
  return { ...last, data: { ...last.data, delta: `${one?.delta ?? ""}${other?.delta ?? ""}` } };
}

function fits(event: NewEvent, { agentId, sessionKey, workId }: EventFilter): boolean {
  return (
    (workId ?? event.workId) === event.workId &&
    (agentId ?? event.agentId) === event.agentId &&
    (sessionKey ?? event.sessionKey) === event.sessionKey
  );
}

export class EventLog {
  readonly #db: Database;
  /** What each reader wants, by what wakes it. */
  readonly #readers = new Map<() => void, EventFilter>();
  #pending: NewEvent[] = [];
  /** Events since the readers were woken. */
  #unseen: NewEvent[] = [];
  /** Deltas of work that ended before this are removed, ms since the epoch. */
  #prunedTo = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Stores the event with the others of this moment, then wakes the readers. */
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
    this.#db.transaction(() => {
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
    for (const [wake, filter] of this.#readers) if (events.some((event) => fits(event, filter))) wake();
  }

  /** Id of the newest event; 0 before the first. */
  get newest(): number {
    return this.#db.get<{ seq: number | null }>("SELECT max(seq) AS seq FROM events")?.seq ?? 0;
  }

  /** Events after an id, oldest first, one page. */
  after(seq: number, { agentId, sessionKey, workId }: EventFilter): StoredEvent[] {
    const tests = [
      ["work = ?", workId],
      ["agent = ?", agentId],
      ["session = ?", sessionKey],
    ].filter((test): test is [string, string] => test[1] !== undefined);
    const where = ["seq > ?", ...tests.map(([test]) => test)].join(" AND ");
    const values = tests.map(([, value]) => value);
    return this.#db
      .all<EventRow>(`SELECT * FROM events WHERE ${where} ORDER BY seq LIMIT ${PAGE}`, seq, ...values)
      .map(eventOf);
  }

  /** Follows events after an id until the signal fires. Reads them from the file, so a slow reader costs no memory. */
  async *follow(after: number, filter: EventFilter, signal: AbortSignal): AsyncGenerator<StoredEvent> {
    let wake: () => void = () => undefined;
    let isAwake = false;
    const onWrite = (): void => {
      isAwake = true;
      wake();
    };
    this.#readers.set(onWrite, filter);
    signal.addEventListener("abort", onWrite, { once: true });
    try {
      for (let seq = after; !signal.aborted;) {
        isAwake = false;
        const page = this.after(seq, filter);
        for (const event of page) {
          yield event;
          if (signal.aborted) return;
          seq = event.seq;
        }
        if (page.length === 0 && !isAwake && !signal.aborted)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      this.#readers.delete(onWrite);
      signal.removeEventListener("abort", onWrite);
    }
  }

  /** Removes deltas of work that ended before a time (ms since the epoch); the messages have their text. */
  prune(endedBefore: number): number {
    const removed = this.#db.run(
      `DELETE FROM events WHERE type IN (${PASSING.map(() => "?").join(", ")})
       AND work IN (SELECT id FROM work WHERE state = 'ended' AND ended >= ? AND ended < ?)`,
      ...PASSING,
      this.#prunedTo,
      endedBefore,
    );
    this.#prunedTo = endedBefore;
    return removed;
  }
}
