/** Reads an answer of the Messages API while it passes: events, one JSON body, or an error. */
import { saysContextOverflow } from "../../../../model/overflow.ts";
import { SseReader } from "../../sse.ts";
import type { AnswerReader, WireAnswer, WireHeaders } from "../dialect.ts";
import { AnswerParts } from "./answer-parts.ts";
import { fieldsOf, parsedFields, textOf, type Fields } from "../../json/fields.ts";

/** A body beyond this is not kept; no answer is as long. */
const MOST_BYTES = 64 * 1024 * 1024;
const TOO_LARGE = 413;
const RATE_LIMITED = 429;

export class MessagesReader implements AnswerReader {
  readonly #status: number;
  readonly #answer = new AnswerParts();
  readonly #events = new SseReader();
  /** Undefined until the first byte that is no space tells, where the headers do not. */
  #isStream: boolean | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #error: WireAnswer["error"];

  constructor(status: number, headers: WireHeaders) {
    this.#status = status;
    const type = String(headers["content-type"] ?? "");
    if (type.includes("text/event-stream")) this.#isStream = true;
    else if (type.includes("json") || status >= 400) this.#isStream = false;
  }

  take(chunk: Buffer): void {
    if (this.#isStream === undefined) {
      const first = chunk.find((byte) => byte > 0x20);
      if (first !== undefined) this.#isStream = first !== 0x7b;
    }
    if (this.#isStream === true) {
      for (const { data } of this.#events.take(chunk)) this.#event(parsedFields(data) ?? {});
      return;
    }
    this.#bytes += chunk.length;
    // A copy: the caller's buffer may be used again.
    if (this.#bytes <= MOST_BYTES) this.#chunks.push(Buffer.from(chunk));
  }

  end(): WireAnswer {
    if (this.#isStream !== true) this.#whole(Buffer.concat(this.#chunks).toString("utf8"));
    else if (this.#status >= 400) this.#error ??= this.#failure({}, "");
    this.#chunks = [];
    return this.#answer.end(this.#error);
  }

  #event(event: Fields): void {
    switch (event["type"]) {
      case "message_start":
        return this.#answer.message(fieldsOf(event["message"]));
      case "content_block_start":
        return this.#answer.started(event);
      case "content_block_delta":
        return this.#answer.grew(event);
      case "content_block_stop":
        return this.#answer.ended(event);
      case "message_delta":
        this.#answer.usage(event["usage"]);
        return this.#answer.stop(fieldsOf(event["delta"])["stop_reason"]);
      case "message_stop":
        return this.#answer.complete();
      case "error":
        this.#error ??= this.#failure(event, "");
        return undefined;
      default:
        return undefined;
    }
  }

  #whole(text: string): void {
    const body = parsedFields(text) ?? {};
    if (this.#status >= 400 || body["type"] === "error") {
      this.#error = this.#failure(body, text);
      return;
    }
    if (body["type"] !== "message") return;
    this.#answer.message(body);
    if (typeof body["stop_reason"] === "string") this.#answer.complete();
  }

  #failure(body: Fields, text: string): NonNullable<WireAnswer["error"]> {
    const error = fieldsOf(body["error"]);
    const said = textOf(error["message"]) || textOf(body["error"]) || textOf(body["message"]);
    const code = textOf(error["type"]);
    const overflow =
      this.#status === TOO_LARGE ||
      (this.#status !== RATE_LIMITED && saysContextOverflow(`${code} ${said} ${said === "" ? text : ""}`));
    const message = said || `The provider answered with status ${this.#status} and no reason.`;
    return { message, ...(code === "" ? {} : { code }), overflow };
  }
}
