/** Reads an answer of the generateContent API while it passes: events, one JSON body, a JSON list of chunks, or an error. */
import {
  type Fields,
  isRecord,
  parseJson,
  parseRecord,
  recordOf,
  recordsOf,
  stringOf,
} from "../../../data/record-fields.ts";
import { saysContextOverflow } from "../../../model/quirks/error-phrases.ts";
import { partsOf } from "../../../protocols/gemini/gemini-parts.ts";
import { AnswerBytes } from "../../request/answer-bytes.ts";
import type { AnswerReader, WireAnswer, WireHeaders, WireRequest } from "../wire-dialect.ts";
import { AnswerParts } from "./generate-content-answer.ts";
import { turnAfter } from "./generate-content-items.ts";

const RATE_LIMITED = 429;

/** A chunk that only shows that an answer has begun: counts of the prompt, or an empty part. */
function isBeginning(chunk: Fields): boolean {
  if (chunk["promptFeedback"] !== undefined) return false;
  return recordsOf(chunk["candidates"]).every(
    (candidate) =>
      candidate["finishReason"] === undefined &&
      partsOf(recordOf(candidate["content"])).every(
        (part) => Object.keys(part).length === 1 && part["text"] === "",
      ),
  );
}

export class GenerateContentReader implements AnswerReader {
  opening: "begun" | "failed" | "over" = "begun";
  readonly #status: number;
  readonly #answer = new AnswerParts();
  readonly #bytes: AnswerBytes;
  readonly #request: WireRequest | undefined;
  #error: WireAnswer["error"];

  constructor(status: number, headers: WireHeaders, request?: WireRequest) {
    this.#status = status;
    this.#request = request;
    this.#bytes = new AnswerBytes(status, headers);
  }

  take(chunk: Buffer): void {
    for (const { data } of this.#bytes.take(chunk)) this.#event(parseRecord(data) ?? {});
  }

  end(): WireAnswer {
    const body = this.#bytes.body();
    if (body !== undefined) this.#whole(body);
    if (this.#status >= 400) this.#error ??= this.#failure({}, body ?? "");
    return this.#answer.end(this.#error, turnAfter(this.#request?.items ?? []));
  }

  #event(chunk: Fields): void {
    const hasFailed = this.#failed(chunk);
    if (this.opening === "begun" && (hasFailed || !isBeginning(chunk)))
      this.opening = hasFailed ? "failed" : "over";
    if (!hasFailed) this.#answer.add(chunk);
  }

  /** A stream without events is one list of chunks. */
  #whole(text: string): void {
    const body = parseJson(text) ?? parseJson(closed(text));
    for (const chunk of Array.isArray(body) ? recordsOf(body) : [recordOf(body)])
      if (!this.#failed(chunk)) this.#answer.add(chunk);
  }

  #failed(chunk: Fields): boolean {
    const error = chunk["error"];
    if (!isRecord(error)) return false;
    this.#error ??= this.#failure(error, "");
    return true;
  }

  #failure(error: Fields, text: string): NonNullable<WireAnswer["error"]> {
    const reason = stringOf(error["message"]);
    const code = stringOf(error["status"]);
    // A proxy's page is no useful message, but may mention an overflow.
    const report = `${code} ${reason} ${reason === "" ? text.slice(0, 4_000) : ""}`;
    const overflow =
      this.#status !== RATE_LIMITED && error["code"] !== RATE_LIMITED && saysContextOverflow(report);
    const message = reason || `The provider answered with status ${this.#status} and no reason.`;
    return { message, ...(code === "" ? {} : { code }), overflow };
  }
}

/** A list of chunks that was cut, up to its last whole chunk. */
function closed(text: string): string {
  const list = text.trimStart();
  const end = list.startsWith("[") ? list.lastIndexOf("}\n,") : -1;
  return end < 0 ? "" : `${list.slice(0, end + 1)}]`;
}
