/** The common part of all protocol readers: bytes, JSON, errors, and a description of bytes that are not of the protocol. */
import { type Fields, isRecord, parseJson, recordOf, stringOf } from "../data/record-fields.ts";
import { AnswerBytes } from "./answer-bytes.ts";
import { isError, readError, readErrorText } from "./answer-errors.ts";
import type { AnswerError, AnswerHead, AnswerPiece, ProtocolReader, ReadAnswer } from "./answer-reader.ts";
import type { SseEvent } from "./sse.ts";
import { defined } from "../data/defined.ts";

/** Outcome of an event: read; only a beginning; unknown and skipped. */
export type Taken = "begun" | "read" | "unknown";

/** One protocol's part of reading an answer. */
export interface AnswerState {
  /** Progress since it was last emptied. */
  readonly pieces: AnswerPiece[];
  readonly isEnded: boolean;
  /** The error that an event or a body is; `undefined` for any other. `name`: as the stream names the event. */
  errorIn(fields: Fields, name: string | undefined): unknown;
  event(fields: Fields, name: string | undefined): Taken;
  /** One body in place of a stream. */
  whole(body: Fields): Taken;
  /** `[DONE]` in the stream. */
  done(): void;
  result(): AnswerResult;
  /** As `ProtocolReader.output`. */
  output?(): readonly Fields[];
}

export type AnswerResult = Omit<ReadAnswer, "isComplete" | "skipped" | "unreadable" | "error">;

/** Members of a result as a protocol has them; the empty ones are left out. */
export function resultOf(found: {
  content: AnswerResult["content"];
  degraded: Iterable<string>;
  model: string;
  id: string;
  usage: AnswerResult["usage"] | undefined;
  cache?: AnswerResult["cache"] | undefined;
  end: AnswerResult["end"] | undefined;
  refusal: string;
}): AnswerResult {
  const { content, degraded, model, id, usage, cache, end, refusal } = found;
  return {
    content,
    degraded: [...degraded],
    ...(model === "" ? {} : { model }),
    ...(id === "" ? {} : { responseId: id }),
    ...defined({ usage, cache, end }),
    ...(refusal === "" ? {} : { refusal }),
  };
}

/** Names of unknown events that are kept. */
const MOST_SKIPPED = 20;
const MOST_NAME_CHARACTERS = 60;
const DONE_DATA = "[DONE]";

export class AnswerParser implements ProtocolReader {
  opening: ProtocolReader["opening"] = "begun";
  readonly #status: number;
  readonly #type: string;
  readonly #bytes: AnswerBytes;
  readonly #state: AnswerState;
  readonly #skipped = new Set<string>();
  #events = 0;
  /** Events that look like an object of the protocol but are no JSON. */
  #broken = 0;
  #hasRead = false;
  #error: AnswerError | undefined;

  constructor({ status, headers }: AnswerHead, state: AnswerState) {
    this.#status = status;
    this.#type = (String(headers["content-type"] ?? "").split(";", 1)[0] ?? "").trim();
    this.#bytes = new AnswerBytes(status, headers);
    this.#state = state;
  }

  get isEnded(): boolean {
    return this.#error !== undefined || this.#state.isEnded;
  }

  take(chunk: Uint8Array): readonly AnswerPiece[] {
    for (const event of this.#bytes.take(chunk)) this.#event(event);
    return this.#pieces();
  }

  #pieces(): readonly AnswerPiece[] {
    return this.#state.pieces.splice(0);
  }

  end(): ReadAnswer {
    for (const event of this.#bytes.rest()) this.#event(event);
    const body = this.#bytes.body();
    if (body !== undefined) this.#whole(body);
    const error = this.#error ?? (this.#status >= 400 ? { message: "", status: this.#status } : undefined);
    const isComplete = error === undefined && this.#state.isEnded;
    const isUnreadable = error === undefined && !this.#hasRead && !isComplete;
    const result = this.#state.result();
    const broken =
      this.#broken === 1 ? ["an event that is no JSON"] : [`${this.#broken} events that are no JSON`];
    return {
      ...result,
      degraded: this.#broken > 0 ? [...result.degraded, ...broken] : result.degraded,
      ...defined({ error }),
      isComplete,
      skipped: [...this.#skipped],
      ...(isUnreadable ? { unreadable: this.#described() } : {}),
    };
  }

  output(): readonly Fields[] {
    return this.#state.output?.() ?? [];
  }

  #event({ event: name, data }: SseEvent): void {
    this.#events += 1;
    const text = data.trim();
    const isDone = text === DONE_DATA;
    if (isDone) {
      this.#state.done();
      this.#hasRead = true;
    }
    const parsed = isDone || text === "" ? undefined : parseJson(text);
    if (isRecord(parsed)) return this.#fields(parsed, name);
    if (parsed === undefined && text.startsWith("{")) this.#broken += 1;
    if (name === "error" && text !== "") this.#fail(parsed === undefined ? text : parsed);
    else if (!isDone && text !== "") this.#skip(name ?? "an event without an object");
    this.#opens(isDone ? "over" : undefined);
  }

  /** An event's object, or one in a body of several. */
  #fields(fields: Fields, name: string | undefined): void {
    const error = this.#state.errorIn(fields, name);
    if (error !== undefined) {
      this.#fail(error);
      return this.#opens("failed");
    }
    const taken = this.#state.event(fields, name);
    if (taken === "unknown") this.#skip(kindOf(fields, name));
    else this.#hasRead = true;
    this.#opens(taken === "read" ? "over" : undefined);
  }

  #opens(state: "failed" | "over" | undefined): void {
    if (this.opening === "begun" && state) this.opening = state;
  }

  #fail(error: unknown): void {
    this.#error ??= readError(typeof error === "string" ? { error } : error, this.#status);
  }

  #skip(name: string): void {
    if (this.#skipped.size < MOST_SKIPPED) this.#skipped.add(name.slice(0, MOST_NAME_CHARACTERS));
  }

  #whole(text: string): void {
    const body = parseJson(text);
    if (this.#status >= 400) {
      this.#error ??= body === undefined ? readErrorText(text, this.#status) : readError(body, this.#status);
      return;
    }
    if (isRecord(body)) return this.#object(body);
    // A list of chunks, or an object a line; the last one may be cut.
    const parts = Array.isArray(body) ? (body as unknown[]) : objectsIn(text);
    for (const part of parts) if (isRecord(part)) this.#fields(part, undefined);
  }

  #object(body: Fields): void {
    const error = this.#state.errorIn(body, undefined) ?? bodyError(body);
    if (error === undefined) {
      const taken = this.#state.whole(body);
      if (taken !== "unknown") this.#hasRead = true;
      else this.#skip(kindOf(body, undefined));
    } else this.#fail(error);
  }

  #described(): string {
    const size = `${this.#bytes.length} bytes`;
    if (this.#bytes.length === 0) return "an empty body";
    if (this.#events > 0) {
      const kinds = [...this.#skipped].slice(0, 3).join(", ");
      return `${this.#events} events that the protocol does not have${kinds === "" ? "" : ` (${kinds})`}`;
    }
    return `a body of ${size}${this.#type === "" ? "" : ` of the type ${this.#type}`} that is no answer`;
  }
}

/** An object that is no answer but an error without the member of one, such as `{"detail": "loading"}`. */
function bodyError(body: Fields): unknown {
  const isAnswer = ["choices", "content", "output", "candidates", "delta", "response"].some(
    (name) => body[name] !== undefined && body[name] !== null,
  );
  if (isAnswer) return undefined;
  const names = ["errors", "detail", "message", "msg", "error_description"];
  return names.some((name) => isError(body[name])) ? body : undefined;
}

function kindOf(fields: Fields, name: string | undefined): string {
  const { type, object } = fields;
  const own = stringOf(type) || name || stringOf(object);
  return own || `an object with ${Object.keys(fields).slice(0, 3).join(", ") || "no members"}`;
}

/** The objects of a body that is no JSON as a whole: one a line, or a list that was cut. */
function objectsIn(text: string): readonly unknown[] {
  const lines = text.split("\n").map((line) => parseJson(line.replace(/^\s*[[,]?|[,\]]?\s*$/g, "")));
  const objects = lines.filter(isRecord);
  if (objects.length > 0) return objects;
  const list = text.trimStart();
  const end = list.startsWith("[") ? list.lastIndexOf("}\n,") : -1;
  const whole = end < 0 ? undefined : parseJson(`${list.slice(0, end + 1)}]`);
  return Array.isArray(whole) ? (whole as unknown[]) : [recordOf(undefined)];
}
