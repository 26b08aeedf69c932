/** Event streams that are open: each ends when its client disconnects, its token is revoked, or the server stops. */
import type { ServerResponse } from "node:http";
import type { Awaitable } from "../inbox/inbox.ts";
import type { Caller } from "./access/caller.ts";
import type { RateLimits } from "./access/rate-limits.ts";

/** Interval of the check whether tokens are still valid, ms. */
const CHECK_MS = 500;
/** Interval of comments that keep an idle connection open, ms. */
const PING_MS = 15_000;

interface OpenStream {
  caller: Caller;
  abort: AbortController;
  out: ServerResponse;
}

export interface ServerSentEvent {
  id: number;
  type: string;
  data: object;
}

export class OpenStreams {
  readonly #streams = new Set<OpenStream>();
  readonly #limits: RateLimits;
  readonly #isValid: (caller: Caller) => Awaitable<boolean>;
  #isChecking = false;
  readonly #timers: NodeJS.Timeout[];

  constructor(limits: RateLimits, isValid: (caller: Caller) => Awaitable<boolean>) {
    this.#limits = limits;
    this.#isValid = isValid;
    this.#timers = [
      setInterval(() => void this.#check(), CHECK_MS),
      setInterval(() => this.#ping(), PING_MS),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  get count(): number {
    return this.#streams.size;
  }

  /** False where the caller has too many streams open; nothing is sent then, nor where the client has disconnected already. */
  async serve(
    caller: Caller,
    out: ServerResponse,
    source: (signal: AbortSignal) => AsyncIterable<ServerSentEvent>,
  ): Promise<boolean> {
    // Its end has been reported: nothing would end the stream.
    if (out.destroyed) return true;
    const release = this.#limits.stream(caller.tokenId);
    if (!release) return false;
    const abort = new AbortController();
    const stream = { caller, abort, out };
    this.#streams.add(stream);
    const onClose = (): void => abort.abort();
    out.once("close", onClose);
    try {
      out.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      });
      out.flushHeaders();
      for await (const event of source(abort.signal)) await write(out, frame(event), abort.signal);
    } finally {
      this.#streams.delete(stream);
      release();
      out.off("close", onClose);
      out.end();
    }
    return true;
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    const callers = new Map([...this.#streams].map(({ caller }) => [caller.tokenId, caller]));
    for (const caller of callers.values()) if (!(await this.#isStillValid(caller))) this.#end(caller);
    this.#isChecking = false;
  }

  /** Where the tokens cannot be read, the next check looks again. */
  async #isStillValid(caller: Caller): Promise<boolean> {
    try {
      return await this.#isValid(caller);
    } catch {
      return true;
    }
  }

  #end({ tokenId }: Caller): void {
    for (const { caller, abort } of this.#streams) if (caller.tokenId === tokenId) abort.abort();
  }

  #ping(): void {
    for (const { out } of this.#streams) if (!out.writableNeedDrain) out.write(": ping\n\n");
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const { abort } of this.#streams) abort.abort();
  }
}

function frame({ id, type, data }: ServerSentEvent): string {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Waits while the client reads slowly. */
async function write(out: ServerResponse, text: string, signal: AbortSignal): Promise<void> {
  if (out.write(text) || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      out.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    out.once("drain", done);
    signal.addEventListener("abort", done, { once: true });
  });
}
