/** Reads an answer of the Chat Completions API while it passes: events, one JSON body, or an error. */
import { type Fields, parseRecord, recordOf, recordsOf, stringOf } from "../../../data/record-fields.ts";
import { saysContextOverflow } from "../../../model/quirks/error-phrases.ts";
import { AnswerBytes } from "../../request/answer-bytes.ts";
import type { AnswerReader, WireAnswer, WireHeaders } from "../wire-dialect.ts";
import { AnswerParts } from "./completions-answer.ts";
import { assistantOf } from "../../../protocols/completions/completions-messages.ts";

/** Servers send the error as an object, as a string, or at the top level (`detail`, `message`). */
function errorOf(body: Fields): { message: string; code?: string } | undefined {
  const error = recordOf(body["error"]);
  const isTop = body["error"] === undefined && (body["object"] === "error" || body["choices"] === undefined);
  const top = isTop ? stringOf(body["message"]) || stringOf(body["detail"]) : "";
  const message = stringOf(error["message"]) || stringOf(body["error"]) || top;
  if (message === "" && (body["error"] === undefined || body["error"] === null)) return undefined;
  const codes = [error["code"], error["type"], body["type"]];
  // llama.cpp and vLLM send the status as a number there; the type is more specific.
  const code = codes.find((value): value is string => typeof value === "string" && value !== "");
  return { message: message || "the server names no reason", ...(code === undefined ? {} : { code }) };
}

/** A chunk that only shows that an answer has begun: a role, or the filter results of the prompt. */
function isBeginning(chunk: Fields): boolean {
  const isNothing = (value: unknown): boolean =>
    value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
  const choices = recordsOf(chunk["choices"]);
  if (choices.length === 0) return Array.isArray(chunk["choices"]) && isNothing(chunk["usage"]);
  return choices.every((choice) => {
    const { role: _role, ...rest } = recordOf(choice["delta"]);
    return isNothing(choice["finish_reason"]) && Object.values(rest).every(isNothing);
  });
}

export class CompletionsReader implements AnswerReader {
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
    for (const { data } of this.#bytes.take(chunk)) this.#event(data);
  }

  end(): WireAnswer {
    const body = this.#bytes.body();
    if (body !== undefined) this.#whole(body);
    return this.#answer.end(this.#error);
  }

  #event(data: string): void {
    const chunk = data.trim() === "[DONE]" ? undefined : parseRecord(data);
    const hasFailed = chunk !== undefined && this.#failed(chunk);
    if (this.opening === "begun" && !(chunk && !hasFailed && isBeginning(chunk)))
      this.opening = hasFailed ? "failed" : "over";
    if (!chunk || hasFailed) return;
    this.#answer.about(chunk);
    const [choice] = recordsOf(chunk["choices"]);
    if (!choice) return;
    this.#answer.delta(recordOf(choice["delta"]));
    this.#answer.finish(choice["finish_reason"]);
  }

  #whole(text: string): void {
    const body = parseRecord(text);
    if (body && this.#failed(body)) return;
    if (!body || this.#status >= 400) {
      // A proxy's page is no useful message, but may mention an overflow.
      if (this.#status >= 400)
        this.#error = this.#refusal({ message: `HTTP status ${this.#status}` }, text.slice(0, 4_000));
      return;
    }
    this.#answer.about(body);
    const [choice] = recordsOf(body["choices"]);
    if (!choice) return;
    this.#answer.whole(assistantOf(recordOf(choice["message"])));
    this.#answer.finish(choice["finish_reason"]);
  }

  #failed(body: Fields): boolean {
    const error = errorOf(body);
    if (error) this.#error ??= this.#refusal(error, "");
    return error !== undefined;
  }

  #refusal(error: { message: string; code?: string }, more: string): WireAnswer["error"] {
    const report = `${error.code ?? ""} ${error.message} ${more}`;
    return { ...error, overflow: this.#status !== 429 && saysContextOverflow(report) };
  }
}
