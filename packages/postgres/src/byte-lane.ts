/**
 * The bytes that one writer appends to one stream of a session, in order, each statement with the lease's epoch. What waits while a
 * statement runs is sent as one chunk with the next.
 */
import { backOffMs } from "@pagurus/core/data/back-off";
import { setTimeout as sleep } from "node:timers/promises";
import { PagurusError } from "@pagurus/contract/errors";
import { isCut, type Database } from "./connections.ts";

/** How long bytes that nothing waits for stay here, so that those that follow go with them, ms. */
const GATHER_MS = 5;
/** How long an append is tried again after a cut connection, ms. */
const RETRY_MS = 8_000;
const PAUSES = { firstMs: 10, longestMs: 400 };
const CHUNK_BYTES = 1024 * 1024;

export interface LaneSession {
  agent: string;
  sessionId: string;
  epoch: number;
}

/** Statements of a stream. Their values: agent, session, epoch, offset, bytes, and what `more` adds. */
export interface ByteStream {
  /** Returns a row where the bytes were stored: the database itself refuses what a host that lost its lease sends. */
  append: string;
  /** A row with `mine` (the epoch is the session's), `next` (so is the offset) and `stored` (these bytes are there). */
  state: string;
  /** Further values of `append`. */
  more: readonly unknown[];
  /** Makes `append` possible again where the session is still the writer's; false: another host has it. */
  revive(): Promise<boolean>;
}

interface Waiting {
  at: number;
  bytes: Uint8Array;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** A statement in the place of `append` for the last bytes, which also ends the stream. */
export interface LastStatement {
  text: string;
  more: readonly unknown[];
}

export class ByteLane {
  readonly session: LaneSession;
  readonly #database: Database;
  readonly #stream: ByteStream;
  readonly #lost: (error: unknown) => void;
  #waiting: Waiting[] = [];
  #draining: Promise<void> | undefined;
  #gathering: NodeJS.Timeout | undefined;
  #last: LastStatement | undefined;
  #failure: unknown;

  /** `lost` is called once, when nothing more can be written. */
  constructor(
    database: Database,
    session: LaneSession,
    { stream, lost }: { stream: ByteStream; lost: (error: unknown) => void },
  ) {
    this.#database = database;
    this.session = session;
    this.#stream = stream;
    this.#lost = lost;
  }

  /** What stopped the writer. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * Resolves when the bytes, and all before them, are stored. Rejects with `lock_lost`, `store_write_failed`. `isWaitedFor`: they are sent at
   * once.
   */
  append(at: number, bytes: Uint8Array, isWaitedFor = true): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ at, bytes, resolve, reject });
    if (isWaitedFor) this.#begin();
    else if (!this.#draining) this.#gathering ??= setTimeout(() => this.#begin(), GATHER_MS);
    return promise;
  }

  /** Resolves when nothing waits any more, stored or failed. */
  async settled(): Promise<void> {
    if (this.#waiting.length > 0) this.#begin();
    await this.#draining;
  }

  /** As `settled`; nothing is appended afterwards. False where `last` was not sent, as no bytes waited. */
  async finished(last: LastStatement): Promise<boolean> {
    this.#last = last;
    await this.settled();
    return this.#last === undefined;
  }

  #begin(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    this.#draining ??= this.#drain();
  }

  /** Nothing more is sent; what is on its way may still arrive. */
  fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error);
    this.#lost(error);
  }

  /** The database refused the writer. */
  refused(): PagurusError {
    const { sessionId } = this.session;
    const { place } = this.#database.target;
    return new PagurusError(
      "lock_lost",
      `Another host took over the session ${sessionId}, and the database ${place} refused what this one wrote; nothing more is written, open the session again.`,
      { details: { sessionId, place } },
    );
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0 && this.#failure === undefined) {
      const batch = this.#take();
      const last = this.#waiting.length === 0 ? this.#last : undefined;
      if (last) this.#last = undefined;
      try {
        const bytes = Buffer.concat(batch.map((piece) => piece.bytes));
        await this.#send(
          batch[0]?.at ?? 0,
          bytes,
          last ?? { text: this.#stream.append, more: this.#stream.more },
        );
        for (const { resolve } of batch) resolve();
      } catch (error) {
        this.fail(error);
        for (const { reject } of batch) reject(error);
      }
    }
    this.#draining = undefined;
  }

  /** The oldest bytes that wait, as many as make one chunk, and at least one piece. */
  #take(): Waiting[] {
    let size = 0;
    const more = this.#waiting.findIndex(({ bytes }, at) => (size += bytes.length) > CHUNK_BYTES && at > 0);
    return this.#waiting.splice(0, more < 0 ? this.#waiting.length : more);
  }

  async #send(at: number, bytes: Buffer, { text, more }: LastStatement): Promise<void> {
    const { agent, sessionId, epoch } = this.session;
    const giveUpAt = performance.now() + RETRY_MS;
    for (let failures = 1; this.#failure === undefined; failures += 1) {
      try {
        const values = [agent, sessionId, epoch, at, bytes];
        const stored = await this.#database.once(text, [...values, ...more]);
        // After a cut connection the first try may have been stored.
        if (stored.length > 0 || (await this.#isStored(values))) return;
        continue;
      } catch (error) {
        if (!isCut(error) || performance.now() > giveUpAt)
          throw this.#database.failure("store_write_failed", error);
      }
      await sleep(backOffMs(failures, PAUSES));
    }
    throw this.#failure;
  }

  /** False: it can be sent again now. Throws `lock_lost`. */
  async #isStored(values: unknown[]): Promise<boolean> {
    type State = { mine: boolean; next: boolean; stored: boolean };
    const [state] = await this.#database.once<State>(this.#stream.state, values);
    if (state?.stored) return true;
    if (state?.mine && state.next && (await this.#stream.revive())) return false;
    throw this.refused();
  }
}
