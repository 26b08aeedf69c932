/** In which order the requests of a route are decided on: what was answered is recorded before the next one is. */
import type { WireRequest } from "./dialect/dialect.ts";
import { atMost } from "./patience.ts";

/** How long a request waits for the one before it, ms. */
const BEFORE_MS = 30_000;
/** How long it waits while that one's answer goes on streaming, ms: its harness does not wait for the end either. */
const STREAMING_MS = 2_000;

/** Told by a request on its way. */
export interface Stages {
  /** Its answer goes out. */
  streams(): void;
  /** Its answer has ended, and is about to be recorded. */
  streamed(): void;
}

/** A request on its way, for the one behind it. */
class Running implements Stages {
  readonly #ended = Promise.withResolvers<void>();
  readonly #streaming = Promise.withResolvers<void>();
  readonly #streamed = Promise.withResolvers<void>();
  #isStreaming = false;

  streams(): void {
    this.#isStreaming = true;
    this.#streaming.resolve();
  }

  streamed(): void {
    this.#isStreaming = false;
    this.#streamed.resolve();
  }

  end(): void {
    this.#ended.resolve();
  }

  /** Resolves when it is over, or has streamed for so long since this was asked. */
  async over(ms: number): Promise<void> {
    const isLong = this.#streaming.promise.then(async () => {
      await atMost(this.#streamed.promise, ms);
      // What came to its end is only being recorded.
      if (!this.#isStreaming) await this.#ended.promise;
    });
    await Promise.race([this.#ended.promise, isLong]);
  }
}

/** Requests of one conversation follow each other; different conversations of a route do not wait. */
export class Conversations {
  readonly #newest = new Map<string, Running>();
  readonly #streamingMs: number;

  constructor(streamingMs = STREAMING_MS) {
    this.#streamingMs = streamingMs;
  }

  async inTurn(
    { native }: Pick<WireRequest, "native">,
    signal: AbortSignal,
    work: (stages: Stages) => Promise<void>,
  ): Promise<void> {
    const key = JSON.stringify([native.threadId, native.agentId]);
    const before = this.#newest.get(key);
    const own = new Running();
    this.#newest.set(key, own);
    const end = (): void => {
      own.end();
      if (this.#newest.get(key) === own) this.#newest.delete(key);
    };
    const isOver = before ? atMost(before.over(this.#streamingMs), BEFORE_MS) : undefined;
    let hasWaited = false;
    try {
      if (isOver) await atMost(isOver, BEFORE_MS, signal);
      hasWaited = !signal.aborted;
      await work(own);
    } finally {
      // Whoever comes behind one that left early waits for what that one waited for.
      if (isOver && !hasWaited) void isOver.then(end);
      else end();
    }
  }
}
