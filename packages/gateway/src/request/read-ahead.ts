/** Reads ahead a part of an answer's body, and returns a body that still has all of it. */
import { Readable } from "node:stream";

/** How much is read ahead at most, and for how long. */
export interface AheadLimits {
  bytes: number;
  ms: number;
}

export class Ahead {
  /** The bytes read ahead. */
  readonly body: Buffer;
  readonly #stream: Readable;
  #whole: Readable | undefined;

  constructor(body: Buffer, stream: Readable) {
    this.body = body;
    this.#stream = stream;
  }

  /** The body from its first byte, as if nothing had been read; the caller must listen at once. */
  get whole(): Readable {
    this.#whole ??= this.#again();
    return this.#whole;
  }

  #again(): Readable {
    const { body } = this;
    const stream = this.#stream;
    if (stream.readableEnded || stream.destroyed) return repeated(body, stream.readableEnded);
    if (body.length > 0) stream.unshift(body);
    return stream;
  }
}

/** A stream of the bytes of an ended stream. A cut stays a cut, after all bytes before it. */
function repeated(body: Buffer, hasEnd: boolean): Readable {
  let isSent = body.length === 0;
  return new Readable({
    read() {
      if (!isSent) {
        isSent = true;
        this.push(body);
      } else if (hasEnd) this.push(null);
      else this.destroy(new Error("The answer broke off."));
    },
  });
}

/**
 * Reads while `continues` returns true for each chunk, up to the limits, the end, or the signal. Never throws. Does not use `data`
 * events: a stream that was once paused does not flow again by itself for the next listener.
 */
export async function readAhead(
  stream: Readable,
  limits: AheadLimits,
  continues: (chunk: Buffer) => boolean = () => true,
  signal?: AbortSignal,
): Promise<Ahead> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Kept permanently: an error between two readers must not be unhandled.
  stream.on("error", () => undefined);
  await new Promise<void>((resolve) => {
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", settle);
      stream.off("readable", onReadable).off("end", settle).off("close", settle);
      resolve();
    };
    const onReadable = (): void => {
      for (let chunk = take(stream); chunk; chunk = take(stream)) {
        chunks.push(chunk);
        bytes += chunk.length;
        if (!continues(chunk) || bytes >= limits.bytes) return settle();
      }
    };
    const timer = setTimeout(settle, limits.ms);
    signal?.addEventListener("abort", settle, { once: true });
    stream.on("end", settle).on("close", settle).on("readable", onReadable);
    if (stream.destroyed || signal?.aborted) settle();
  });
  return new Ahead(Buffer.concat(chunks), stream);
}

function take(stream: Readable): Buffer | undefined {
  return (stream.read() as Buffer | null) ?? undefined;
}
