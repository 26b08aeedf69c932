/** Reads an answer of the Messages API while it passes: events, one JSON body, or an error. */
import { type Fields, parseRecord, recordOf, stringOf } from "../../../data/record-fields.ts";
import { saysContextOverflow } from "../../../model/quirks/error-phrases.ts";
import { AnswerBytes } from "../../request/answer-bytes.ts";
import type { AnswerReader, WireAnswer, WireHeaders } from "../wire-dialect.ts";
import { AnswerParts } from "./messages-answer.ts";

const TOO_LARGE = 413;
const RATE_LIMITED = 429;

/** Events that only show that an answer has begun. */
const BEGINNINGS: ReadonlySet<unknown> = new Set(["message_start", "ping"]);

export class MessagesReader implements AnswerReader {
  opening: "begun" | "failed" | "over" = "begun";
  readonly #status: number;
  readonly #answer = new AnswerParts();
  readonly #bytes: AnswerBytes;
  #error: WireAnswer["error"];

  constructor(status: number, headers: WireHeaders) {
    this.#status = status;
    this.#bytes = new AnswerBytes(status, headers);
  }

  take(chunk: Buffer): void {
    for (const { data } of this.#bytes.take(chunk)) this.#event(parseRecord(data) ?? {});
  }

  end(): WireAnswer {
    const body = this.#bytes.body();
    if (body !== undefined) this.#whole(body);
    else if (this.#status >= 400) this.#error ??= this.#failure({}, "");
    return this.#answer.end(this.#error);
  }

  #event(event: Fields): void {
    if (this.opening === "begun" && !BEGINNINGS.has(event["type"]))
      this.opening = event["type"] === "error" ? "failed" : "over";
    switch (event["type"]) {
      case "message_start":
        return this.#answer.message(recordOf(event["message"]));
      case "content_block_start":
        return this.#answer.started(event);
      case "content_block_delta":
        return this.#answer.grew(event);
      case "content_block_stop":
        return this.#answer.ended(event);
      case "message_delta":
        this.#answer.usage(event["usage"]);
        return this.#answer.stop(recordOf(event["delta"])["stop_reason"]);
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
    const body = parseRecord(text) ?? {};
    if (this.#status >= 400 || body["type"] === "error") {
      this.#error = this.#failure(body, text);
      return;
    }
    if (body["type"] !== "message") return;
    this.#answer.message(body);
    if (typeof body["stop_reason"] === "string") this.#answer.complete();
  }

  #failure(body: Fields, text: string): NonNullable<WireAnswer["error"]> {
    const error = recordOf(body["error"]);
    const reason = stringOf(error["message"]) || stringOf(body["error"]) || stringOf(body["message"]);
    const code = stringOf(error["type"]);
    const overflow =
      this.#status === TOO_LARGE ||
      (this.#status !== RATE_LIMITED &&
        saysContextOverflow(`${code} ${reason} ${reason === "" ? text : ""}`));
    const message = reason || `The provider answered with status ${this.#status} and no reason.`;
    return { message, ...(code === "" ? {} : { code }), overflow };
  }
}
