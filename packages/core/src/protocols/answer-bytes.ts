/** Collects the bytes of an answer as they pass: the events of an event stream, else one body. */
import { SseReader, type SseEvent } from "./sse.ts";

/** Lower-case names, as Node returns them. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Larger bodies are not kept; no real answer is as long. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Beginning of an event stream: a field or a comment. */
const STREAM_LINE = /^(?:data|event|id|retry)?:/;
/** Beginning of a JSON value or of a page. */
const BODY = /^[{[<]/;
/** Characters that decide between the two. */
const ENOUGH = 8;

export class AnswerBytes {
  readonly #events = new SseReader();
  readonly #declared: "stream" | "body" | undefined;
  /** Undefined until the first byte that is not white space. */
  #isStream: boolean | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(status: number, headers: AnswerHeaders) {
    const type = String(headers["content-type"] ?? "");
    if (type.includes("text/event-stream")) this.#declared = "stream";
    else if (type.includes("json") || status >= 400) this.#declared = "body";
  }

  /** Undefined until the first byte has come. */
  get isStream(): boolean | undefined {
    return this.#isStream;
  }

  /** Number of bytes so far. */
  get length(): number {
    return this.#bytes;
  }

  /** Returns the events that this chunk completes; none for a single body, which is kept. */
  take(bytes: Uint8Array): SseEvent[] {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#bytes += chunk.length;
    if (this.#isStream === true) return this.#events.take(chunk);
    // Copied, as the caller may reuse its buffer.
    if (this.#bytes <= MOST_BYTES) this.#chunks.push(Buffer.from(chunk));
    this.#isStream ??= this.#isStreamFrom(ENOUGH);
    return this.#isStream === true ? this.#events.take(this.#kept()) : [];
  }

  /**
   * Servers declare one form and send the other, so the first characters decide. Undefined for fewer than `enough` that are not white
   * space.
   */
  #isStreamFrom(enough: number): boolean | undefined {
    const head = Buffer.concat(this.#chunks).toString("latin1").replace("\u00EF\u00BB\u00BF", "").trimStart();
    if (BODY.test(head)) return false;
    if (STREAM_LINE.test(head)) return true;
    return head.length < enough ? undefined : this.#declared === "stream";
  }

  #kept(): Buffer {
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    return bytes;
  }

  /** The event that the end of the stream completes. */
  rest(): SseEvent[] {
    this.#isStream ??= this.#isStreamFrom(0);
    if (this.#isStream !== true) return [];
    return [...this.#events.take(this.#kept()), ...this.#events.end()];
  }

  /** Returns the single body and drops it here; undefined if the answer was a stream. */
  body(): string | undefined {
    if (this.#isStream === true) return undefined;
    return this.#kept().toString("utf8");
  }
}
