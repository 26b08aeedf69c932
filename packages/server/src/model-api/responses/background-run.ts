/** A response that is made without its client: the answer goes to the record, and whoever follows it reads its events. */
import { errorText } from "@pagurus/core/data/error-text";
import { attempt } from "@pagurus/core/data/attempt";
import { recordOf, stringOf } from "@pagurus/core/data/record-fields";
import type { WireReply } from "@pagurus/gateway/dialect/wire-dialect";
import type { WireCall } from "@pagurus/gateway/server/gateway-call";
import type { Passed, Tap } from "@pagurus/gateway/server/relay";
import { sseBytes } from "@pagurus/core/protocols/sse";
import type { UpstreamAnswer } from "@pagurus/gateway/upstream/upstream";
import type { ResponseRecord } from "./response-request.ts";
import type { NumberedEvent } from "./response-store.ts";
import type { ResponseRewriter } from "./response-rewriter.ts";

const FIRST_FAILURE = 400;

export class BackgroundRun {
  readonly record: ResponseRecord;
  readonly #controller = new AbortController();
  readonly #events: NumberedEvent[] = [];
  #waiting: (() => void)[] = [];
  #isOver = false;

  readonly #over = Promise.withResolvers<void>();

  constructor(record: ResponseRecord) {
    this.record = record;
  }

  /** Resolves when it was ended or stopped. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  get events(): readonly NumberedEvent[] {
    return this.#events;
  }

  /** Runs it to its end. Never throws. `serve` gets the call that it answers. */
  async run(id: number, body: Buffer, serve: (call: WireCall) => Promise<void>): Promise<void> {
    try {
      this.record.begins("in_progress");
      await serve(this.#call(id, body));
      if (!this.#hasEnded) this.fail("server_error", "The model's answer was cut.");
    } catch (error) {
      if (!this.#hasEnded) this.fail("server_error", errorText(error));
    } finally {
      this.#isOver = true;
      this.#wake();
    }
  }

  get #hasEnded(): boolean {
    const { status } = this.record.stored;
    return status !== "queued" && status !== "in_progress";
  }

  /** Whether it was ended, or stopped, before or after its run. */
  get isOver(): boolean {
    return this.#isOver || this.#hasEnded;
  }

  /** Ends it as cancelled. */
  cancel(): void {
    if (this.#hasEnded) return;
    this.record.ended(this.record.object("cancelled"));
    this.#controller.abort(new Error("The response was cancelled."));
    this.#wake();
  }

  /** Stops it without an end: a later process runs it again. */
  interrupt(): void {
    this.#isOver = true;
    this.#controller.abort(new Error("The server stops."));
    this.#wake();
  }

  /** Its events with numbers above `after`, to its end. */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<NumberedEvent> {
    const onAbort = (): void => this.#wake();
    signal.addEventListener("abort", onAbort, { once: true });
    for (let at = 0; ;) {
      for (; at < this.#events.length; at++) {
        const event = this.#events[at];
        if (event && event.sequence > after) yield event;
      }
      if (this.isOver || signal.aborted) return signal.removeEventListener("abort", onAbort);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #wake(): void {
    if (this.isOver) this.#over.resolve();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #call(id: number, body: Buffer): WireCall {
    const rawHeaders = ["content-type", "application/json", "accept-encoding", "identity"];
    return {
      id,
      method: "POST",
      path: "/responses",
      query: "",
      headers: { "content-type": "application/json", "accept-encoding": "identity" },
      rawHeaders,
      signal: this.#controller.signal,
      body: () => Promise.resolve(body),
      reply: (reply) => this.#reply(reply),
      pass: (answer, tap) => this.#pass(answer, tap),
    };
  }

  #reply({ status, headers, body }: WireReply): void {
    if (status >= FIRST_FAILURE) return this.#failWith(body);
    const rewriter = this.#begin(status, headers);
    rewriter.take(body);
    rewriter.end();
    return this.#wake();
  }

  #begin(status: number, headers: WireReply["headers"] | UpstreamAnswer["headers"]): ResponseRewriter {
    return this.record.rewriter(status, headers, (text, sequence) => {
      this.#events.push({ sequence, text });
    });
  }

  async #pass(answer: UpstreamAnswer, tap: Tap | undefined): Promise<Passed> {
    const passed: Passed = { cut: false, left: false, bytes: 0 };
    const isFailure = answer.status >= FIRST_FAILURE;
    const rewriter = isFailure ? undefined : this.#begin(answer.status, answer.headers);
    const failure: Buffer[] = [];
    try {
      for await (const chunk of answer.stream as AsyncIterable<Buffer>) {
        passed.bytes += chunk.length;
        if (!this.#controller.signal.aborted) rewriter?.take(chunk);
        if (isFailure) failure.push(chunk);
        attempt(() => tap?.(chunk));
        this.#wake();
      }
      if (!this.#controller.signal.aborted) rewriter?.end();
    } catch {
      passed.cut = !this.#controller.signal.aborted;
      passed.left = this.#controller.signal.aborted;
    }
    if (isFailure) this.#failWith(Buffer.concat(failure));
    return passed;
  }

  /** With the message of an error's body. */
  #failWith(body: Buffer): void {
    const read = attempt(() => recordOf(recordOf(JSON.parse(body.toString("utf8")))["error"]));
    const message = stringOf(read?.["message"]);
    this.fail("server_error", message === "" ? "The model's server refused the request." : message);
  }

  /** Ends it as failed, also before its run. */
  fail(code: string, message: string): void {
    if (this.isOver) return;
    const response = this.record.object("failed", { code, message });
    this.record.ended(response);
    this.#events.push(lastEvent(response, (this.#events.at(-1)?.sequence ?? -1) + 1));
    this.#wake();
  }
}

/** The event of a response's end. */
export function lastEvent(response: Record<string, unknown>, sequence: number): NumberedEvent {
  const status = stringOf(response["status"]);
  const type = `response.${status === "cancelled" ? "failed" : status}`;
  const data = JSON.stringify({ type, response, sequence_number: sequence });
  return { sequence, text: sseBytes({ event: type, data }).toString("utf8") };
}
