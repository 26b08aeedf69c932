/** Orders the requests of a route: each answer is recorded before the next request of its conversation is decided on. */
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import type { WireRequest } from "../dialect/wire-dialect.ts";
import { atMost } from "./timeouts.ts";

/** Name of a request's conversation on its route; empty if nothing names it. */
export function conversationOf({ native }: Pick<WireRequest, "native">): string {
  return native.threadId ?? native.contentId ?? "";
}

/** How long a request waits for the one before it, ms. */
const BEFORE_MS = 30_000;
/** How long it waits while that one's answer still streams, ms: its harness does not wait for the end either. */
const STREAMING_MS = 2_000;

/** Progress callbacks of a request. */
export interface Stages {
  /** The answer begins to stream to the harness. */
  streams(): void;
  /** The answer has ended, and is about to be recorded. */
  streamed(): void;
}

/** A request in progress, that the next one waits for. */
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

  /** Resolves when the request is over, or has streamed for `ms` since the call. */
  async over(ms: number, clock: Clock): Promise<void> {
    const isLong = this.#streaming.promise.then(async () => {
      await atMost(this.#streamed.promise, ms, undefined, clock);
      // An answer that has ended only has to be recorded.
      if (!this.#isStreaming) await this.#ended.promise;
    });
    await Promise.race([this.#ended.promise, isLong]);
  }
}

/** Requests of one conversation run in order; different conversations of a route do not wait for each other. */
export class Conversations {
  readonly #newest = new Map<string, Running>();
  readonly #clock: Clock;

  constructor(clock: Clock = SYSTEM_CLOCK) {
    this.#clock = clock;
  }

  async inTurn(
    request: Pick<WireRequest, "native">,
    signal: AbortSignal,
    work: (stages: Stages) => Promise<void>,
  ): Promise<void> {
    const key = JSON.stringify([conversationOf(request), request.native.agentId]);
    const before = this.#newest.get(key);
    const own = new Running();
    this.#newest.set(key, own);
    const end = (): void => {
      own.end();
      if (this.#newest.get(key) === own) this.#newest.delete(key);
    };
    const clock = this.#clock;
    const isOver = before && atMost(before.over(STREAMING_MS, clock), BEFORE_MS, undefined, clock);
    let hasWaited = false;
    try {
      if (isOver) await atMost(isOver, BEFORE_MS, signal, clock);
      hasWaited = !signal.aborted;
      await work(own);
    } finally {
      // The request after one that aborted early waits for what that one waited for.
      if (isOver && !hasWaited) void isOver.then(end);
      else end();
    }
  }
}
