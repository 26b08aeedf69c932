/** What a provider that refuses a request says, read whole so that the gateway may ask again. */
import { PassThrough, pipeline } from "node:stream";
import type { Dialect, WireAnswer } from "./dialect/dialect.ts";
import { readerOf } from "./encoded.ts";
import type { UpstreamAnswer } from "./upstream/upstream.ts";

export interface Refused {
  /** With its body from the beginning. */
  answer: UpstreamAnswer;
  /** As much of the body as was read. */
  body: Buffer;
}

/** How much of a refusal is read, and how long. */
export interface RefusalLimits {
  bytes: number;
  ms: number;
}

/** Reads an answer's body; what is longer, or takes longer, stays a stream behind what was read. Never throws. */
export async function readWhole(
  { stream, ...head }: UpstreamAnswer,
  limits: RefusalLimits,
): Promise<Refused> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const again = new PassThrough();
  await new Promise<void>((resolve) => {
    const settle = (): void => {
      clearTimeout(timer);
      stream.pause().off("data", onData).off("end", settle).off("error", settle).off("close", settle);
      resolve();
    };
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= limits.bytes) settle();
    };
    const timer = setTimeout(settle, limits.ms);
    stream.on("end", settle).on("error", settle).on("close", settle).on("data", onData);
    if (stream.destroyed) settle();
  });
  for (const chunk of chunks) again.write(chunk);
  // A cut stays a cut, and whoever leaves what is passed on leaves the provider too.
  if (stream.readableEnded) again.end();
  else pipeline(stream, again, () => undefined);
  return { answer: { ...head, stream: again }, body: Buffer.concat(chunks) };
}

/** What the body says; its error tells whether the context was refused as too long. Never throws. */
export function refusalOf(dialect: Dialect, { answer, body }: Refused): WireAnswer {
  const reader = readerOf(dialect, answer.status, answer.headers);
  reader.take(body);
  return reader.end();
}
