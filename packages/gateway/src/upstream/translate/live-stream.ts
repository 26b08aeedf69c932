/** Streams an answer's bytes to a harness, with keep-alive events, since the harness times out after minutes without data. */
import { Readable } from "node:stream";
import { toPagurusError } from "@pagurus/contract/errors";
import { sseBytes } from "@pagurus/core/protocols/sse";
import type { WireApi } from "../../dialect/wire-dialect.ts";

/**
 * Events that each protocol's clients accept as a keep-alive and otherwise ignore. For clients of the first two, comments do not
 * reset the timeout. Google's own libraries fail at comments, and some at empty lines, so theirs is a chunk without content.
 */
const ALIVE: Readonly<Record<WireApi, Buffer>> = {
  "openai-responses": sseBytes({ event: "keepalive", data: JSON.stringify({ type: "keepalive" }) }),
  "anthropic-messages": sseBytes({ event: "ping", data: JSON.stringify({ type: "ping" }) }),
  "openai-completions": Buffer.from(": alive\n\n"),
  "google-generative-ai": sseBytes({ data: "{}" }),
};
/** White space between the elements of a list. */
const ALIVE_IN_LIST = Buffer.from("\n");

interface LiveOptions {
  api: WireApi;
  /** The stream is one JSON list. */
  isList: boolean;
  aliveMs: number;
  /** Ends the call to the model; a generator that is waiting for it cannot be stopped otherwise. */
  leave(): void;
}

/** `source` yields whole events. While the model sends nothing (during a long call, say), a keep-alive is sent every `aliveMs`. */
export class LiveStream extends Readable {
  readonly #source: AsyncGenerator<Buffer>;
  readonly #options: LiveOptions;
  #isWaiting = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(source: AsyncGenerator<Buffer>, options: LiveOptions) {
    super();
    this.#source = source;
    this.#options = options;
  }

  override _read(): void {
    // A keep-alive triggers another read while the previous one still waits.
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    const { api, isList, aliveMs } = this.#options;
    this.#timer = setInterval(() => this.push(isList ? ALIVE_IN_LIST : ALIVE[api]), aliveMs);
    this.#next().catch((error: unknown) => this.destroy(toPagurusError(error)));
  }

  /** Skips parts for which the dialect has no event, and so no bytes. */
  async #next(): Promise<void> {
    let next = await this.#source.next();
    while (next.done !== true && next.value.length === 0) next = await this.#source.next();
    this.#isWaiting = false;
    clearInterval(this.#timer);
    this.push(next.done === true ? null : next.value);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearInterval(this.#timer);
    this.#options.leave();
    this.#source.return(undefined).catch(() => undefined);
    callback(error);
  }
}
