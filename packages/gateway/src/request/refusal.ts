/**
 * Detects a provider's rejection of a context as too long, before the answer is passed to the harness, so that the gateway can
 * retry. The rejection is an error answer, or the first event of a stream.
 */
import { readAhead, type Ahead, type AheadLimits } from "./read-ahead.ts";
import type { AnswerReader, Dialect, WireAnswer } from "../dialect/wire-dialect.ts";
import { decodingReader } from "./encoded.ts";
import { canWait, type Waiting } from "./late-refusal.ts";
import type { UpstreamAnswer } from "../upstream/upstream.ts";

/** Limits for reading an error answer before it is passed on. */
const REFUSAL: AheadLimits = { bytes: 1024 * 1024, ms: 10_000 };
/** Limits for holding back the beginning of a stream. */
const OPENING: AheadLimits = { bytes: 64 * 1024, ms: 4_000 };

/** An answer whose beginning has been read. */
export class Begun {
  /** The part of the body read so far. */
  readonly body: Buffer;
  /** A reader that has taken that part, if the answer can be parsed. */
  readonly reader: AnswerReader | undefined;
  readonly ahead: Ahead;
  readonly #head: Omit<UpstreamAnswer, "stream">;

  constructor({ stream: _stream, ...head }: UpstreamAnswer, ahead: Ahead, reader?: AnswerReader) {
    this.#head = head;
    this.reader = reader;
    this.ahead = ahead;
    this.body = ahead.body;
  }

  /** The answer with its body from the beginning. */
  get answer(): UpstreamAnswer {
    return { ...this.#head, stream: this.ahead.whole };
  }
}

/** Reads an answer's body, up to the limits; the rest stays a stream after the part that was read. Never throws. */
export async function readWhole(
  answer: UpstreamAnswer,
  limits: AheadLimits,
  signal?: AbortSignal,
): Promise<Begun> {
  return new Begun(answer, await readAhead(answer.stream, limits, () => true, signal));
}

/** Reads an error answer, up to the limits of one. Never throws. */
export function readRejection(answer: UpstreamAnswer, signal: AbortSignal): Promise<Begun> {
  return readWhole(answer, REFUSAL, signal);
}

/**
 * Reads the beginning of a stream until it shows more than that an answer begins. Undefined, without reading anything, for an answer
 * that is no event stream that can be parsed. Never throws.
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
  const continues = (chunk: Buffer): boolean => {
    reader.take(chunk);
    return reader.opening === "begun";
  };
  if (reader.opening !== "begun") return undefined;
  return new Begun(answer, await readAhead(stream, limits, continues, signal), reader);
}

export interface RefusalCheck {
  /** The answer, from its beginning. */
  answer: UpstreamAnswer;
  /** The rejection, if the provider rejected the context as too long and sent nothing else. */
  refused?: WireAnswer & { error: NonNullable<WireAnswer["error"]> };
  /** The stream has only shown that an answer begins, for as long as it is held back without a sign. */
  waiting?: Omit<Waiting, "signal">;
}

/**
 * Checks whether an answer rejects the context as too long: by its words, or because it has refused a request that was as large as the
 * model's window (`isNearWindow`). Never throws.
 */
export async function refusalIn(
  dialect: Dialect,
  answer: UpstreamAnswer,
  { signal, isNearWindow }: { signal: AbortSignal; isNearWindow(status: number): boolean },
): Promise<RefusalCheck> {
  const isError = answer.status >= 400;
  const begun = isError
    ? await readWhole(answer, REFUSAL, signal)
    : await readOpening(dialect, answer, OPENING, signal);
  if (!begun) return { answer };
  const { reader, ahead } = begun;
  if (!isError && reader?.opening === "begun" && isOpen(answer) && canWait(answer, dialect.api))
    return { answer, waiting: { ahead, reader } };
  if (!isError && begun.reader?.opening !== "failed") return begun;
  const refusal = (begun.reader ?? readerOfWhole(dialect, answer, begun)).end();
  const { error } = refusal;
  if (!error || (!error.overflow && !(isError && isNearWindow(answer.status)))) return begun;
  return { answer: begun.answer, refused: { ...refusal, error: { ...error, overflow: true } } };
}

function isOpen({ stream }: UpstreamAnswer): boolean {
  return !stream.readableEnded && !stream.destroyed;
}

function readerOfWhole(dialect: Dialect, answer: UpstreamAnswer, { body }: Begun): AnswerReader {
  const reader = decodingReader(dialect, answer);
  reader.take(body);
  return reader;
}
