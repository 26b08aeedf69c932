import type { WireHeaders } from "../dialect/wire-dialect.ts";
import { SseReader, type SseEvent } from "./sse.ts";

/** Larger bodies are not kept; no real answer is as long. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Collects the bytes of an answer as they pass: the events of an event stream, else one body. */
export class AnswerBytes {
  readonly #events = new SseReader();
  /** If the headers do not decide, undefined until the first byte that is not white space. */
  #isStream: boolean | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(status: number, headers: WireHeaders) {
    const type = String(headers["content-type"] ?? "");
    if (type.includes("text/event-stream")) this.#isStream = true;
    else if (type.includes("json") || status >= 400) this.#isStream = false;
  }

  /** Returns the events that this chunk completes; none for a single body, which is kept. */
  take(chunk: Buffer): SseEvent[] {
    if (this.#isStream === undefined) {
      const first = chunk.find((byte) => byte > 0x20);
      // An object, or a list of chunks.
      if (first !== undefined) this.#isStream = first !== 0x7b && first !== 0x5b;
    }
    if (this.#isStream === true) return this.#events.take(chunk);
    this.#bytes += chunk.length;
    // Copied, as the caller may reuse its buffer.
    if (this.#bytes <= MOST_BYTES) this.#chunks.push(Buffer.from(chunk));
    return [];
  }

  /** Returns the single body and drops it here; undefined if the answer was a stream. */
  body(): string | undefined {
    if (this.#isStream === true) return undefined;
    const text = Buffer.concat(this.#chunks).toString("utf8");
    this.#chunks = [];
    return text;
  }
}
