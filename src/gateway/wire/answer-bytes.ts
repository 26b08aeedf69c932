import type { WireHeaders } from "./dialect/dialect.ts";
import { SseReader, type SseEvent } from "./sse.ts";

/** A body beyond this is not kept; no answer is as long. */
const MOST_BYTES = 64 * 1024 * 1024;

/** The bytes of an answer as they pass: events where it is a stream of such, else one body. */
export class AnswerBytes {
  readonly #events = new SseReader();
  /** Undefined until the first byte that is no space tells, where the headers do not. */
  #isStream: boolean | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(status: number, headers: WireHeaders) {
    const type = String(headers["content-type"] ?? "");
    if (type.includes("text/event-stream")) this.#isStream = true;
    else if (type.includes("json") || status >= 400) this.#isStream = false;
  }

  /** The events that are whole with this chunk; none of one body, which is kept. */
  take(chunk: Buffer): SseEvent[] {
    if (this.#isStream === undefined) {
      const first = chunk.find((byte) => byte > 0x20);
      if (first !== undefined) this.#isStream = first !== 0x7b;
    }
    if (this.#isStream === true) return this.#events.take(chunk);
    this.#bytes += chunk.length;
    // A copy: the caller's buffer may be used again.
    if (this.#bytes <= MOST_BYTES) this.#chunks.push(Buffer.from(chunk));
    return [];
  }

  /** The one body, given up here; undefined where the answer was a stream. */
  body(): string | undefined {
    if (this.#isStream === true) return undefined;
    const text = Buffer.concat(this.#chunks).toString("utf8");
    this.#chunks = [];
    return text;
  }
}
