/**
 * Events of work, with ids that a client can resume from. An event is stored before anyone gets it, so an id never means another
 * event after a crash. Events of one moment are written together.
 */
import { attempt } from "@pagurus/core/data/attempt";
import { nextSlice, Pace } from "@pagurus/core/platform/pace";
import type { Awaitable } from "./inbox.ts";
import type { WorkPlace } from "./work.ts";

export interface NewEvent {
  workId: string;
  agentId: string;
  sessionKey: string;
  type: string;
  data: object;
}

export interface StoredEvent extends NewEvent {
  /** Rises with each event of the server, or of the servers that share an inbox. */
  seq: number;
}

/** Which events a reader wants; without a member, all. */
export interface EventFilter {
  agentId?: string | undefined;
  sessionKey?: string | undefined;
  workId?: string | undefined;
}

export interface EventLog {
  /** Stores an event of work that this host runs, with the others of this moment, then wakes the readers. */
  add(event: NewEvent): void;
  /** Resolves when all that was added is stored. */
  flush(): Awaitable<void>;
  /** Id of the newest event; 0 before the first. */
  newest(): Awaitable<number>;
  /** Events after an id, oldest first, one page; empty after the newest one. */
  after(seq: number, filter: EventFilter): Awaitable<StoredEvent[]>;
  /** Follows events after an id until the signal fires. Reads them from the store, so a slow reader costs no memory. */
  follow(after: number, filter: EventFilter, signal: AbortSignal): AsyncGenerator<StoredEvent>;
  /** Removes deltas of work that ended before a time (ms since the epoch); the messages have their text. */
  prune(endedBefore: number): Awaitable<number>;
}

/** Events of one page. */
export const EVENT_PAGE = 256;
/** A page ends with the event that reaches this many characters of data: one with an image has megabytes. */
export const PAGE_CHARACTERS = 2 ** 20;
/** Events that are only of use while a turn runs. */
export const PASSING_EVENTS: readonly string[] = ["text.delta", "thinking.delta", "tool.output"];

/** Two neighbouring deltas of one work are one event. */
export function joined(last: NewEvent | undefined, next: NewEvent): NewEvent | undefined {
  if (last === undefined || last.workId !== next.workId || last.type !== next.type) return undefined;
  if (next.type !== "text.delta" && next.type !== "thinking.delta") return undefined;
  const [one, other] = [last.data, next.data] as { delta: string }[];
  return { ...last, data: { ...last.data, delta: `${one?.delta ?? ""}${other?.delta ?? ""}` } };
}

function passesFilter(
  event: Omit<NewEvent, "type" | "data">,
  { agentId, sessionKey, workId }: EventFilter,
): boolean {
  return (
    (workId ?? event.workId) === event.workId &&
    (agentId ?? event.agentId) === event.agentId &&
    (sessionKey ?? event.sessionKey) === event.sessionKey
  );
}

/** Who waits for events, and for which. */
export class EventReaders {
  readonly #readers = new Map<() => void, EventFilter>();

  /** Wakes the readers that want one of them. */
  wake(events: readonly Omit<NewEvent, "type" | "data">[]): void {
    for (const [wake, filter] of this.#readers)
      if (events.some((event) => passesFilter(event, filter))) wake();
  }

  /** As `wake`, for long events: each reader reads them in a slice of its own. */
  async wakeInTurn(events: readonly Omit<NewEvent, "type" | "data">[]): Promise<void> {
    for (const [wake, filter] of this.#readers) {
      if (!events.some((event) => passesFilter(event, filter))) continue;
      await nextSlice();
      wake();
    }
  }

  /** Wakes the readers of one piece of work, or of its session, whose digest another host sent. */
  wakePlace(
    { place, workId }: { place: string; workId: string },
    digest: (filter: WorkPlace) => string,
  ): void {
    for (const [wake, { agentId, sessionKey, workId: wanted }] of this.#readers) {
      const isSession =
        agentId === undefined || sessionKey === undefined || digest({ agentId, sessionKey }) === place;
      if (wanted === undefined ? isSession : workId === "" || wanted === workId) wake();
    }
  }

  wakeAll(): void {
    for (const wake of this.#readers.keys()) wake();
  }

  /** Pages of events after an id until the signal fires; `read` gives one page. */
  async *follow(
    { after, filter, signal }: { after: number; filter: EventFilter; signal: AbortSignal },
    read: (after: number) => Awaitable<StoredEvent[]>,
  ): AsyncGenerator<StoredEvent> {
    let wake: () => void = () => undefined;
    let isAwake = false;
    const onWrite = (): void => {
      isAwake = true;
      wake();
    };
    this.#readers.set(onWrite, filter);
    signal.addEventListener("abort", onWrite, { once: true });
    try {
      // Readers that begin in one moment read their pages one after another.
      await nextSlice();
      for (let seq = after; !signal.aborted;) {
        isAwake = false;
        const pace = new Pace();
        const page = await read(seq);
        for (const event of page) {
          yield event;
          if (signal.aborted) return;
          seq = event.seq;
        }
        // Many readers may read long pages at once.
        if (page.length > 0 && pace.due) await pace.rest();
        else if (page.length === 0 && !isAwake && !signal.aborted)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      this.#readers.delete(onWrite);
      signal.removeEventListener("abort", onWrite);
    }
  }
}

/** All events of a filter, oldest first, up to the newest one. Throws `store_read_failed`. */
export async function* eventsUpToNow(
  events: Pick<EventLog, "after">,
  filter: EventFilter,
): AsyncGenerator<StoredEvent> {
  for (let seq = 0; ;) {
    const page = await events.after(seq, filter);
    yield* page;
    const last = page.at(-1);
    if (!last) return;
    seq = last.seq;
  }
}

/** An event's data as JSON. What a plugin's tool adds may not be writable: then large numbers are texts, or the data is left out. */
export function eventText(data: unknown): string {
  const written = (_key: string, value: unknown): unknown =>
    typeof value === "bigint" ? String(value) : value;
  return attempt(() => JSON.stringify(data)) ?? attempt(() => JSON.stringify(data, written)) ?? "{}";
}
