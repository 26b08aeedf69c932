/** Replaces the response objects in an answer of the Responses API, a stream or a single body, and numbers its events. */
import { attempt } from "@pagurus/core/data/attempt";
import { asRecord } from "@pagurus/core/data/record-fields";
import type { WireHeaders } from "@pagurus/gateway/dialect/wire-dialect";
import { AnswerBytes } from "@pagurus/core/protocols/answer-bytes";
import { sseBytes, type SseEvent } from "@pagurus/core/protocols/sse";
import { defined } from "@pagurus/core/data/defined";

export interface RewriterOptions {
  /** The object that replaces one of the model's server. */
  replace(upstream: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /** Called before the client gets the last object. */
  ended(response: Record<string, unknown>): void;
  /** Called with each event as it is sent. */
  sent?(event: string, sequence: number): void;
  /** Number of the first event. */
  firstSequence: number;
}

const LAST_EVENTS: ReadonlySet<string> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
]);

export class ResponseRewriter {
  readonly #options: RewriterOptions;
  readonly #bytes: AnswerBytes;
  #sequence: number;
  #hasEnded = false;

  constructor(status: number, headers: WireHeaders, options: RewriterOptions) {
    this.#options = options;
    this.#bytes = new AnswerBytes(status, headers);
    this.#sequence = options.firstSequence;
  }

  /** The answer has had its last object. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** What is sent for a chunk of the model's server; may be empty. */
  take(chunk: Buffer): Buffer {
    const events = this.#bytes.take(chunk);
    return events.length === 0 ? Buffer.alloc(0) : Buffer.concat(events.map((event) => this.#event(event)));
  }

  /** Bytes for the end of the answer: a last event without its empty line, or a single body. */
  end(): Buffer {
    const rest = this.#bytes.rest().map((event) => this.#event(event));
    const body = this.#bytes.body();
    if (body === undefined) return Buffer.concat(rest);
    const read = attempt(() => asRecord(JSON.parse(body)));
    if (read?.["object"] !== "response") return Buffer.from(body);
    return Buffer.from(JSON.stringify(this.#last(withStatus(read, "response.completed"))));
  }

  #event(event: SseEvent): Buffer {
    const data = attempt(() => asRecord(JSON.parse(event.data)));
    const type = data?.["type"];
    if (!data || typeof type !== "string") return sseBytes(event);
    const upstream = asRecord(data["response"]);
    const isLast = LAST_EVENTS.has(type);
    const response =
      upstream && (isLast ? this.#last(withStatus(upstream, type)) : this.#options.replace(upstream));
    const sequence = this.#sequence++;
    const sent = { ...data, ...defined({ response }), sequence_number: sequence };
    const bytes = sseBytes({ event: type, data: JSON.stringify(sent) });
    this.#options.sent?.(bytes.toString("utf8"), sequence);
    return bytes;
  }

  #last(upstream: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const response = this.#options.replace(upstream);
    this.#hasEnded = true;
    this.#options.ended(response);
    return response;
  }
}

/** Servers leave out the status of a response that has ended; the last event has it in its type. */
function withStatus(upstream: Readonly<Record<string, unknown>>, type: string): Record<string, unknown> {
  const { status } = upstream;
  return typeof status === "string"
    ? { ...upstream }
    : { ...upstream, status: type.slice("response.".length) };
}
