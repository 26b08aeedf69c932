/**
 * An answer whose beginning takes long: the harness gets the head of the stream and comments, so that it keeps waiting, while the
 * beginning stays held back. If the provider then rejects the context, the answer to a smaller one takes its place.
 */
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { readAhead, type Ahead } from "./read-ahead.ts";
import type { AnswerReader, WireAnswer, WireApi } from "../dialect/wire-dialect.ts";
import type { UpstreamAnswer } from "../upstream/upstream.ts";

/** Pause between two comments, ms. */
const COMMENT_MS = 4_000;
/** A comment of the event stream, which no client shows. */
const COMMENT = Buffer.from(": waiting\n\n");
const MOST_BYTES = 64 * 1024;
/** Longest time without an event, ms: a comment does not count as one for every client. */
const MOST_MS = 60_000;

export interface Waiting {
  /** The part read so far. */
  ahead: Ahead;
  /** Has taken that part; its opening is "begun". */
  reader: AnswerReader;
  signal: AbortSignal;
}

/** The answer to a smaller context; undefined if there is none. Never throws. */
export type AskAgain = (refused: WireAnswer) => Promise<UpstreamAnswer | undefined>;

/** Whether comments and another answer can be in the stream: it has no length, and its clients read comments. Google's fail. */
export function canWait({ headers }: Pick<UpstreamAnswer, "headers">, api: WireApi): boolean {
  return headers["content-length"] === undefined && api !== "google-generative-ai";
}

/** The answer with a body that waits as described above. The caller must listen at once. */
export function waited(answer: UpstreamAnswer, waiting: Waiting, askAgain: AskAgain): UpstreamAnswer {
  return { ...answer, stream: Readable.from(bodyOf(answer, waiting, askAgain), { objectMode: false }) };
}

/** Comments while the work takes; returns its outcome. */
async function* commentsUntil<T>(work: Promise<T>): AsyncGenerator<Buffer, T> {
  const done = work.then((value) => ({ value }));
  for (;;) {
    const outcome = await Promise.race([done, pause(COMMENT_MS, undefined, { ref: false })]);
    if (outcome) return outcome.value;
    yield COMMENT;
  }
}

async function* bodyOf(
  answer: UpstreamAnswer,
  { ahead, reader, signal }: Waiting,
  askAgain: AskAgain,
): AsyncGenerator<Buffer> {
  const held = [ahead.body];
  let bytes = ahead.body.length;
  const { stream } = answer;
  const continues = (chunk: Buffer): boolean => {
    reader.take(chunk);
    return reader.opening === "begun";
  };
  const began = performance.now();
  const isWaiting = (): boolean =>
    reader.opening === "begun" &&
    bytes < MOST_BYTES &&
    performance.now() - began < MOST_MS &&
    !stream.readableEnded &&
    !stream.destroyed;
  while (isWaiting() && !signal.aborted) {
    yield COMMENT;
    const limits = { bytes: MOST_BYTES - bytes, ms: COMMENT_MS };
    const { body } = await readAhead(stream, limits, continues, signal);
    held.push(body);
    bytes += body.length;
  }
  const refused = reader.opening === "failed" ? reader.end() : undefined;
  const other = refused?.error?.overflow === true ? yield* commentsUntil(askAgain(refused)) : undefined;
  if (other) {
    stream.destroy();
    yield* other.stream as AsyncIterable<Buffer>;
    return;
  }
  yield Buffer.concat(held);
  if (!stream.readableEnded && !stream.destroyed) yield* stream as AsyncIterable<Buffer>;
  else if (!stream.readableEnded) throw new Error("The answer broke off.");
}
