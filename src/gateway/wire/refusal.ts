/**
 * What a provider says that refuses a context as too long, read before the harness hears of it so that the gateway may ask again:
 * in an answer that is an error, or as the first thing that a stream says.
 */
import { readAhead, type Ahead, type AheadLimits } from "./ahead.ts";
import type { AnswerReader, Dialect, WireAnswer } from "./dialect/dialect.ts";
import { readerOf } from "./encoded.ts";
import type { UpstreamAnswer } from "./upstream/upstream.ts";

/** A refusal is read up to this before it is passed on. */
const REFUSAL: AheadLimits = { bytes: 1024 * 1024, ms: 10_000 };
/** The beginning of a stream is held back up to this. */
const OPENING: AheadLimits = { bytes: 64 * 1024, ms: 4_000 };

/** An answer whose beginning has been read. */
export class Begun {
  /** As much of the body as was read. */
  readonly body: Buffer;
  /** Has heard that much, where it was followed. */
  readonly reader: AnswerReader | undefined;
  readonly #head: Omit<UpstreamAnswer, "stream">;
  readonly #ahead: Ahead;

  constructor({ stream: _stream, ...head }: UpstreamAnswer, ahead: Ahead, reader?: AnswerReader) {
    this.#head = head;
    this.reader = reader;
    this.#ahead = ahead;
    this.body = ahead.body;
  }

  /** With its body from the beginning. */
  get answer(): UpstreamAnswer {
    return { ...this.#head, stream: this.#ahead.whole };
  }
}

/** Reads an answer's body; what is longer, or takes longer, stays a stream behind what was read. Never throws. */
export async function readWhole(
  answer: UpstreamAnswer,
  limits: AheadLimits,
  signal?: AbortSignal,
): Promise<Begun> {
  return new Begun(answer, await readAhead(answer.stream, limits, () => true, signal));
}

/**
 * Reads the beginning of a stream while it says nothing but that an answer begins. Undefined, and nothing is read, for what is no
 * stream of events that can be followed. Never throws.
 */
export async function readOpening(
  dialect: Dialect,
  answer: UpstreamAnswer,
  limits: AheadLimits,
  signal?: AbortSignal,
): Promise<Begun | undefined> {
  const { status, headers, stream } = answer;
  const isEvents = String(headers["content-type"] ?? "").includes("text/event-stream");
  if (!isEvents || headers["content-encoding"] !== undefined) return undefined;
  const reader = dialect.reader(status, headers);
  const goesOn = (chunk: Buffer): boolean => {
    reader.take(chunk);
    return reader.opening === "begun";
  };
  if (reader.opening !== "begun") return undefined;
  return new Begun(answer, await readAhead(stream, limits, goesOn, signal), reader);
}

export interface Heard {
  /** The answer, from its beginning. */
  answer: UpstreamAnswer;
  /** What it says, where it refused the context as too long and has said nothing else. */
  refused?: WireAnswer & { error: NonNullable<WireAnswer["error"]> };
}

/** Whether an answer is a refusal of the context. Never throws. */
export async function refusalIn(
  dialect: Dialect,
  answer: UpstreamAnswer,
  signal: AbortSignal,
): Promise<Heard> {
  const isError = answer.status >= 400;
  const begun = isError
    ? await readWhole(answer, REFUSAL, signal)
    : await readOpening(dialect, answer, OPENING, signal);
  if (!begun) return { answer };
  if (!isError && begun.reader?.opening !== "failed") return begun;
  const said = (begun.reader ?? readerOfWhole(dialect, answer, begun)).end();
  const { error } = said;
  return error?.overflow === true ? { answer: begun.answer, refused: { ...said, error } } : begun;
}

function readerOfWhole(dialect: Dialect, { status, headers }: UpstreamAnswer, { body }: Begun): AnswerReader {
  const reader = readerOf(dialect, status, headers);
  reader.take(body);
  return reader;
}
