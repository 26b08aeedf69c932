/** A client's call whose answer is recorded: response objects are replaced on their way, and stored. */
import { pipeline, Transform } from "node:stream";
import { attempt } from "@pagurus/core/data/attempt";
import type { WireCall } from "@pagurus/gateway/server/gateway-call";
import type { Tap } from "@pagurus/gateway/server/relay";
import type { UpstreamAnswer } from "@pagurus/gateway/upstream/upstream";
import type { ResponseRecord } from "./response-request.ts";
import type { ResponseRewriter } from "./response-rewriter.ts";

/** A failure is passed as it is; there is no response to record. */
const FIRST_FAILURE = 400;

/** The call for its handler. Answers of the model's server have to come uncompressed. */
export function recordedCall(call: WireCall, record: ResponseRecord): WireCall {
  return {
    ...call,
    ...uncompressed(call),
    reply: (reply) => {
      if (reply.status >= FIRST_FAILURE) return call.reply(reply);
      const rewriter = record.rewriter(reply.status, reply.headers);
      const body = Buffer.concat([rewriter.take(reply.body), rewriter.end()]);
      return call.reply({ ...reply, body });
    },
    pass: (answer, tap) => {
      if (answer.status >= FIRST_FAILURE) return call.pass(answer, tap);
      const rewriter = record.rewriter(answer.status, answer.headers);
      return call.pass({ ...answer, ...rewritten(answer, rewriter, tap) });
    },
  };
}

/** The answer for the client. The tap gets the chunks of the model's server; its errors are ignored. */
function rewritten(
  { stream, rawHeaders }: UpstreamAnswer,
  rewriter: ResponseRewriter,
  tap: Tap | undefined,
): Pick<UpstreamAnswer, "rawHeaders" | "stream"> {
  const kept = rawHeaders.flatMap((value, at) =>
    (rawHeaders[at - (at % 2)] ?? "").toLowerCase() === "content-length" ? [] : [value],
  );
  const through = new Transform({
    transform(chunk: Buffer, _, done) {
      const bytes = rewriter.take(chunk);
      attempt(() => tap?.(chunk));
      if (bytes.length > 0) this.push(bytes);
      done();
    },
    flush(done) {
      const bytes = rewriter.end();
      if (bytes.length > 0) this.push(bytes);
      done();
    },
  });
  // A cut of one is a cut of the other.
  pipeline(stream, through, () => undefined);
  return { rawHeaders: kept, stream: through };
}

/** Answers have to be read, so none may be compressed. */
function uncompressed({ headers, rawHeaders }: WireCall): Pick<WireCall, "headers" | "rawHeaders"> {
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() !== "accept-encoding")
      kept.push(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  return {
    headers: { ...headers, "accept-encoding": "identity" },
    rawHeaders: [...kept, "accept-encoding", "identity"],
  };
}
