/** Event streams that are open: each ends when its client disconnects, its token ends, or the server stops. */
import type { ServerResponse } from "node:http";
import type { Caller } from "./access/caller.ts";
import type { InFlight } from "./access/in-flight.ts";
import type { OpenByToken } from "./access/open-by-token.ts";
import { TOKEN_ENDED } from "./access/open-requests.ts";
import type { RateLimits } from "./access/rate-limits.ts";

/** Interval of comments that keep an idle connection open, ms. */
const COMMENT_MS = 15_000;

interface OpenStream {
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
  readonly #inFlight: InFlight;
  readonly #opened: OpenByToken;
  readonly #timer: NodeJS.Timeout;

  constructor(limits: RateLimits, inFlight: InFlight, opened: OpenByToken) {
    this.#limits = limits;
    this.#inFlight = inFlight;
    this.#opened = opened;
    this.#timer = setInterval(() => this.#ping(), COMMENT_MS);
    this.#timer.unref();
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
    this.#inFlight.leave(out);
    const abort = new AbortController();
    const stream = { abort, out };
    this.#streams.add(stream);
    const forget = this.#opened.add(caller.tokenId, () => {
      out.end(LAST_EVENT);
      abort.abort();
    });
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
      forget();
      release();
      out.off("close", onClose);
      out.end();
    }
    return true;
  }

  #ping(): void {
    for (const { out } of this.#streams)
      if (!out.writableNeedDrain && !out.writableEnded) out.write(": ping\n\n");
  }

  close(): void {
    clearInterval(this.#timer);
    for (const { abort } of this.#streams) abort.abort();
  }
}

/** Without an id, so that a client's last id stays. */
const LAST_EVENT = `event: token.ended\ndata: ${JSON.stringify({ type: "token.ended", message: TOKEN_ENDED })}\n\n`;

function frame({ id, type, data }: ServerSentEvent): string {
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Waits while the client reads slowly. */
async function write(out: ServerResponse, text: string, signal: AbortSignal): Promise<void> {
  if (signal.aborted || out.write(text)) return;
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
