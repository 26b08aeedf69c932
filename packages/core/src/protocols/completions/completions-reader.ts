/** Reads an answer of OpenAI's Chat Completions API, as most servers with a base URL implement it. */
import type { Usage } from "@pagurus/contract/message";
import { type Fields, isRecord, listOf, recordOf, recordsOf, stringOf } from "../../data/record-fields.ts";
import { isError } from "../answer-errors.ts";
import { AnswerParser, type AnswerResult, type AnswerState, resultOf, type Taken } from "../answer-parser.ts";
import { PartList } from "../answer-parts.ts";
import type { AnswerEnd, AnswerHead, ProtocolReader } from "../answer-reader.ts";
import { plainCount, plainReason, plainRecords, plainName } from "../answer-values.ts";
import { CallPieces, type OpenCall, readCall } from "./completions-calls.ts";
import { reasoningText } from "./completions-messages.ts";
import { readUsage } from "./completions-usage.ts";

const ENDS: Readonly<Record<string, AnswerEnd["reason"]>> = {
  tool_calls: "toolUse",
  function_call: "toolUse",
  length: "length",
  max_tokens: "length",
  model_length: "length",
  content_filter: "filter",
  error: "error",
};

class CompletionsState implements AnswerState {
  readonly #parts = new PartList<OpenCall>();
  readonly pieces = this.#parts.pieces;
  readonly #calls = new CallPieces((call) => this.#parts.push(call));
  readonly #degraded = new Set<string>();
  isEnded = false;
  /** Index of the choice that is read: the first one that came. */
  #choice: number | undefined;
  /** A whole message after deltas, as some servers repeat it. */
  #repeated: Fields | undefined;
  #hasDeltas = false;
  #model = "";
  #id = "";
  #usage: Usage | undefined;
  #reason = "";
  #refusal = "";

  errorIn(fields: Fields, name: string | undefined): unknown {
    if (isError(fields["error"])) return fields;
    const isAnswer = Array.isArray(fields["choices"]) && fields["choices"].length > 0;
    if (isAnswer) return undefined;
    if (name === "error" || fields["object"] === "error" || fields["type"] === "error") return fields;
    const { choices } = fields;
    const isChunk = choices !== undefined || stringOf(fields["object"]).startsWith("chat.completion");
    return !isChunk && (isError(fields["detail"]) || isError(fields["message"]) || isError(fields["errors"]))
      ? fields
      : undefined;
  }

  event(chunk: Fields): Taken {
    this.#model ||= plainName(chunk["model"]);
    this.#id ||= plainName(chunk["id"]);
    this.#counts(chunk["usage"] ?? recordOf(chunk["x_groq"])["usage"]);
    const choices = plainRecords(chunk["choices"]);
    const taken = choices.map((choice) => this.#taken(choice));
    if (choices.length > 0) return taken.includes("read") ? "read" : "begun";
    if (readUsage(chunk["usage"])) return "read";
    return Array.isArray(chunk["choices"]) || stringOf(chunk["object"]).startsWith("chat.")
      ? "begun"
      : "unknown";
  }

  whole(body: Fields): Taken {
    const taken = this.event(body);
    // A body without a reason has ended with its last byte.
    if (taken !== "unknown" && (this.#parts.text !== "" || this.#calls.size > 0)) this.isEnded = true;
    return taken;
  }

  done(): void {
    this.isEnded = true;
  }

  #taken(choice: Fields): Taken {
    const index = plainCount(choice["index"]);
    this.#choice ??= index;
    if (index !== undefined && index !== this.#choice) {
      this.#degraded.add("another choice of the answer");
      return "read";
    }
    this.#counts(choice["usage"]);
    const { delta, message } = choice;
    const hasContent = isRecord(delta) && this.#delta(delta);
    if (isRecord(message)) this.#message(message);
    else if (!isRecord(delta)) this.#text(choice["text"]);
    return this.#finish(choice) || hasContent || isRecord(message) ? "read" : "begun";
  }

  #finish(choice: Fields): boolean {
    const reason = plainReason(choice["finish_reason"]) || plainReason(choice["stop_reason"]);
    if (reason === "") return false;
    this.#reason = reason;
    this.isEnded = true;
    return true;
  }

  #message(message: Fields): void {
    if (this.#hasDeltas) this.#repeated = message;
    else this.#delta(message);
  }

  /** Returns whether the delta has any content. */
  #delta(delta: Fields): boolean {
    const before = this.#parts.pieces.length;
    this.#thinking(delta);
    this.#content(delta["content"]);
    this.#refuse(delta["refusal"]);
    const audio = recordOf(delta["audio"]);
    this.#text(audio["transcript"]);
    if (audio["data"] !== undefined) this.#degraded.add("audio");
    if (listOf(delta["images"]).length > 0) this.#degraded.add("an image");
    for (const call of plainRecords(delta["tool_calls"])) this.#call(call);
    if (isRecord(delta["function_call"])) this.#call(delta["function_call"]);
    const hasContent = this.#parts.pieces.length > before;
    this.#hasDeltas ||= hasContent;
    return hasContent;
  }

  #call(piece: Fields): void {
    this.#calls.add(piece);
    this.pieces.push({ type: "call" });
  }

  #thinking(delta: Fields): void {
    this.#parts.add("thinking", reasoningText(delta) || detailsOf(delta["reasoning_details"]));
  }

  #text(value: unknown): void {
    this.#parts.add("text", stringOf(value));
  }

  #refuse(value: unknown): void {
    this.#refusal += stringOf(value);
    this.#text(value);
  }

  /** A text, or parts: Mistral's have thinking among them. */
  #content(content: unknown): void {
    if (typeof content === "string") return this.#text(content);
    for (const part of plainRecords(content)) {
      const { text, thinking } = part;
      if (typeof text === "string") this.#text(text);
      else if (thinking !== undefined) this.#parts.add("thinking", textsOf(thinking));
      else if (typeof part["refusal"] === "string") this.#refuse(part["refusal"]);
      else if (Object.keys(part).length > 0) this.#degraded.add(partName(part));
    }
  }

  #counts(value: unknown): void {
    this.#usage = readUsage(value) ?? this.#usage;
  }

  /** Adds what a repeated message has beyond its deltas; nothing is doubled. */
  #complete(message: Fields): void {
    const whole = new CompletionsState();
    whole.event({ choices: [{ message }] });
    this.#rest("thinking", this.#parts.thinking, whole.#parts.thinking);
    this.#rest("text", this.#parts.text, whole.#parts.text);
    if (this.#calls.size === 0) for (const call of plainRecords(message["tool_calls"])) this.#call(call);
  }

  #rest(kind: "text" | "thinking", streamed: string, whole: string): void {
    if (whole.startsWith(streamed)) this.#parts.add(kind, whole.slice(streamed.length));
    else if (!streamed.includes(whole))
      this.#degraded.add(`${kind} of the whole message that differs from its deltas`);
  }

  #end(hasCalls: boolean): AnswerEnd | undefined {
    if (!this.isEnded) return undefined;
    const known = ENDS[this.#reason];
    const own = known === undefined || known === "toolUse" ? (hasCalls ? "toolUse" : "stop") : known;
    const isRefusal = this.#refusal !== "" && (own === "filter" || own === "stop");
    return { reason: isRefusal ? "refusal" : own, ...(this.#reason === "" ? {} : { raw: this.#reason }) };
  }

  result(): AnswerResult {
    if (this.#repeated) this.#complete(this.#repeated);
    const content = this.#parts.content(readCall);
    const end = this.#end(content.some(({ type }) => type === "toolCall"));
    const refusal = this.#refusal.toWellFormed();
    return resultOf({
      content,
      degraded: this.#degraded,
      model: this.#model,
      id: this.#id,
      usage: this.#usage,
      end,
      refusal,
    });
  }
}

/** OpenRouter's details of reasoning: text, or a summary; encrypted ones have no words. */
function detailsOf(details: unknown): string {
  return recordsOf(details)
    .map((detail) => stringOf(detail["text"]) || stringOf(detail["summary"]))
    .join("");
}

function textsOf(thinking: unknown): string {
  if (typeof thinking === "string") return thinking;
  return plainRecords(thinking)
    .map((part) => stringOf(part["text"]))
    .join("");
}

function partName(part: Fields): string {
  return `a part of the type ${plainName(part["type"]).slice(0, 60) || "unknown"}`;
}

export function completionsReader(head: AnswerHead): ProtocolReader {
  return new AnswerParser(head, new CompletionsState());
}
