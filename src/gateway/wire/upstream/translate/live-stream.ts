/** An answer's bytes on their way to a harness, which gives up where nothing comes for minutes. */
import { Readable } from "node:stream";
import { toPagurusError } from "../../../../contract/errors.ts";
import { sseBytes } from "../../sse.ts";
import type { WireApi } from "../../dialect/dialect.ts";

/** What each protocol's clients take for a sign of life and for nothing else. Comments wake no client of the first two. */
const ALIVE: Readonly<Record<WireApi, Buffer>> = {
  "openai-responses": sseBytes({ event: "keepalive", data: JSON.stringify({ type: "keepalive" }) }),
  "anthropic-messages": sseBytes({ event: "ping", data: JSON.stringify({ type: "ping" }) }),
  "openai-completions": Buffer.from(": alive\n\n"),
};

interface LiveOptions {
  api: WireApi;
  aliveMs: number;
  /** Ends the call to the model, which a generator that waits for it cannot be told. */
  leave(): void;
}

/**
 * `source` yields whole events. While the model is silent (it writes a long call, say) a sign of life goes out after each
 * `aliveMs`.
 */
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
    // A sign of life makes room for another read while the one before still waits.
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#timer = setInterval(() => this.push(ALIVE[this.#options.api]), this.#options.aliveMs);
    this.#next().catch((error: unknown) => this.destroy(toPagurusError(error)));
  }

  /** Parts that the dialect has no words for give no bytes. */
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
