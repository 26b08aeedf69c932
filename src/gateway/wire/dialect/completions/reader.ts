/** Reads an answer of the Chat Completions API while it passes: events, one JSON body, or an error. */
import { saysContextOverflow } from "../../../../model/overflow.ts";
import { AnswerBytes } from "../../answer-bytes.ts";
import type { AnswerReader, WireAnswer, WireHeaders } from "../dialect.ts";
import { AnswerParts } from "./answer-parts.ts";
import { assistantOf } from "./decode.ts";
import { fieldsOf, listOf, textOf, type Fields } from "../../json/fields.ts";

function parsed(text: string): Fields | undefined {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    // No JSON: a line of another kind, or a proxy's page.
    return undefined;
  }
}

/** Servers have the error as an object, as a text, and at the top level (`detail`, `message`). */
function errorOf(body: Fields): { message: string; code?: string } | undefined {
  const error = fieldsOf(body["error"]);
  const isTop = body["error"] === undefined && (body["object"] === "error" || body["choices"] === undefined);
  const top = isTop ? textOf(body["message"]) || textOf(body["detail"]) : "";
  const message = textOf(error["message"]) || textOf(body["error"]) || top;
  if (message === "" && (body["error"] === undefined || body["error"] === null)) return undefined;
  const codes = [error["code"], error["type"], body["type"]];
  // llama.cpp and vLLM have the status as a number there; the type says more.
  const code = codes.find((value): value is string => typeof value === "string" && value !== "");
  return { message: message || "the server names no reason", ...(code === undefined ? {} : { code }) };
}

/** A chunk says no more than that an answer has begun: a role, or what a filter found in the prompt. */
function isBeginning(chunk: Fields): boolean {
  const isNothing = (value: unknown): boolean =>
    value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
  const choices = listOf(chunk["choices"]);
  if (choices.length === 0) return Array.isArray(chunk["choices"]) && isNothing(chunk["usage"]);
  return choices.every((choice) => {
    const { role: _role, ...said } = fieldsOf(choice["delta"]);
    return isNothing(choice["finish_reason"]) && Object.values(said).every(isNothing);
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
    const chunk = data.trim() === "[DONE]" ? undefined : parsed(data);
    const hasFailed = chunk !== undefined && this.#failed(chunk);
    if (this.opening === "begun" && !(chunk && !hasFailed && isBeginning(chunk)))
      this.opening = hasFailed ? "failed" : "over";
    if (!chunk || hasFailed) return;
    this.#answer.about(chunk);
    const [choice] = listOf(chunk["choices"]);
    if (!choice) return;
    this.#answer.delta(fieldsOf(choice["delta"]));
    this.#answer.finish(choice["finish_reason"]);
  }

  #whole(text: string): void {
    const body = parsed(text);
    if (body && this.#failed(body)) return;
    if (!body || this.#status >= 400) {
      // The words of a proxy's page help nobody, but may tell of the overflow.
      if (this.#status >= 400)
        this.#error = this.#refusal({ message: `HTTP status ${this.#status}` }, text.slice(0, 4_000));
      return;
    }
    this.#answer.about(body);
    const [choice] = listOf(body["choices"]);
    if (!choice) return;
    this.#answer.whole(assistantOf(fieldsOf(choice["message"])));
    this.#answer.finish(choice["finish_reason"]);
  }

  #failed(body: Fields): boolean {
    const error = errorOf(body);
    if (error) this.#error ??= this.#refusal(error, "");
    return error !== undefined;
  }

  #refusal(error: { message: string; code?: string }, more: string): WireAnswer["error"] {
    const said = `${error.code ?? ""} ${error.message} ${more}`;
    return { ...error, overflow: this.#status !== 429 && saysContextOverflow(said) };
  }
}
