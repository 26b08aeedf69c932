/**
 * The inbox: work is a durable row before it is acknowledged, once for each idempotency key, and ends exactly once. It is this host's own
 * (`LocalInbox`), or in a database that several hosts share (`SharedInbox`): then each piece of work is run by one host at a time.
 */
import { createHash } from "node:crypto";
import { PagurusError } from "@pagurus/contract/errors";
import type { NewWork, Work, WorkEnd, WorkPlace } from "./work.ts";

/** At once where the inbox is this host's own. */
export type Awaitable<T> = T | Promise<T>;

/** Writes of the poster that belong to the work; with a shared inbox they follow it, and are repeated after a crash. */
export type Alongside = (accepted: { workId: string; isNew: boolean }) => void;

export interface Accepted {
  work: Work;
  /** False where the idempotency key had been used for the same work. */
  isNew: boolean;
}

/** Work that begins on this host. */
export interface Begun {
  work: Work;
  /** It had begun before, and its process ended. */
  isAgain: boolean;
}

/**
 * Each method throws `store_write_failed` or `store_read_failed` where the inbox cannot be reached. Only `begin` returns work with the data of
 * its images; other methods may return images without data.
 */
export interface Inbox {
  /**
   * Resolves when the work is on disk, with what `alongside` writes. Throws `idempotency_conflict`, `store_write_failed`: then nothing
   * is written.
   */
  post(work: NewWork, alongside?: Alongside): Promise<Accepted>;
  find(id: string): Awaitable<Work | undefined>;
  /** Throws `work_not_found`. */
  get(id: string): Awaitable<Work>;
  /** Work that has not ended, of a session or of all, in the order of acceptance. */
  open(place?: WorkPlace): Awaitable<Work[]>;
  /** Ids of the tokens whose work has not ended, each once. */
  openTokens(): Awaitable<string[]>;
  /** The newest work of a session first, at most `limit`. */
  ofSession(place: WorkPlace, limit: number): Awaitable<Work[]>;
  /** Work of a session before this one that has not ended. */
  ahead(work: Work): Awaitable<number>;
  /**
   * Begins the first open work of a session on this host, or begins it again after a crash; undefined where there is none, or another host
   * runs it.
   */
  begin(place: WorkPlace): Awaitable<Begun | undefined>;
  /** It waits again on this host: nothing of it has begun. `reason`: for an event; absent where it still waits for the same one. */
  waits(work: Work, reason?: { code: string; message: string }): Awaitable<void>;
  /** It is tried again after it waited; false where it was withdrawn, or another host has it. */
  retries(work: Work): Awaitable<boolean>;
  /** It joins the turn of `into`. */
  steers(work: Work, into: string): Awaitable<void>;
  /** It has not joined a turn, and waits for one of its own. */
  queuesAgain(id: string): Awaitable<void>;
  /** Ends it, with its last event, in one step; false where it had ended before, or another host has it. */
  ended(work: Work, end: WorkEnd): Awaitable<boolean>;
  /** Takes waiting work out. Throws `work_not_found`; false where it has begun or ended. */
  withdraw(id: string): Awaitable<boolean>;
  /** Asks the host that runs the work of a session to end it; false where none does. Work of this host is ended by its dispatcher. */
  askStop(place: WorkPlace): Awaitable<boolean>;
  /** The first session with work after another one, in the order of agents and keys. */
  placeAfter(place: WorkPlace): Awaitable<WorkPlace | undefined>;
  /** Whether work of a session ended before a time (ms since the epoch). */
  hasEnded(place: WorkPlace, before: number): Awaitable<boolean>;
  /** Removes all ended work of a session that was deleted, with its events and questions: they contain its text. */
  forget(place: WorkPlace): Awaitable<void>;
  /**
   * Removes work that ended before a time (ms since the epoch), with its events, questions and idempotency keys. Looks at the oldest
   * rows only, so that a call's cost does not grow with their number. Returns how many were removed.
   */
  prune(endedBefore: number): Awaitable<number>;
  /** As `forget` for each session that is gone, where the inbox knows that by itself; of work that ended before a time. */
  forgetDeleted?(endedBefore: number): Promise<void>;
  /** Begins to report the work of other hosts; absent where there are none. */
  watch?(watcher: WorkWatcher): void;
}

/** What a host has to know of the others. */
export interface WorkWatcher {
  /** Something may be to do in the session: new work, a request to stop, work of a host that ended. */
  look(place: WorkPlace): void;
  /** Work of the session was to join a turn that is over. */
  left(place: WorkPlace): void;
  /** Another host took over work that this one ran; nothing of it is recorded any more. */
  lost(workId: string): void;
}

/** The same for the same work: what an idempotency key is used for. */
export function workDigest({ agentId, sessionKey, kind, request, policy }: NewWork): string {
  return createHash("sha256")
    .update(JSON.stringify([agentId, sessionKey, kind, request, policy]))
    .digest("base64url");
}

export function idempotencyConflict(key: string, id: string): PagurusError {
  return new PagurusError(
    "idempotency_conflict",
    `The idempotency key ${JSON.stringify(key)} was used for other work (${id}); send the same body again, or take another key.`,
    { details: { id } },
  );
}

export function workNotFound(id: string): PagurusError {
  return new PagurusError("work_not_found", `The inbox has no work ${id}; check the id.`, {
    details: { id },
  });
}
