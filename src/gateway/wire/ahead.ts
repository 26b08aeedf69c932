/** Reads a part of an answer's body before it is passed on, and gives the whole of it back. */
import { Readable } from "node:stream";

/** How much is read ahead at most, and how long. */
export interface AheadLimits {
  bytes: number;
  ms: number;
}

export class Ahead {
  /** What was read. */
  readonly body: Buffer;
  readonly #stream: Readable;
  #whole: Readable | undefined;

  constructor(body: Buffer, stream: Readable) {
    this.body = body;
    this.#stream = stream;
  }

  /** The body from its first byte, as if nothing had been read; whoever asks listens at once. */
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

/** What was read of a stream that is over. A cut stays a cut, behind all that came before it. */
function repeated(body: Buffer, hasEnd: boolean): Readable {
  let isSaid = body.length === 0;
  return new Readable({
    read() {
      if (!isSaid) {
        isSaid = true;
        this.push(body);
      } else if (hasEnd) this.push(null);
      else this.destroy(new Error("The answer broke off."));
    },
  });
}

/**
 * Reads as long as `goesOn` says of all that has come, up to the limits, the end, or the signal. Never throws. Not by `data`
 * events: a stream that was once paused does not begin to flow by itself for whoever listens next.
 */
export async function readAhead(
  stream: Readable,
  limits: AheadLimits,
  goesOn: (chunk: Buffer) => boolean = () => true,
  signal?: AbortSignal,
): Promise<Ahead> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Stays: a cut between two readers must not be an error that nobody handles.
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
        if (!goesOn(chunk) || bytes >= limits.bytes) return settle();
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
