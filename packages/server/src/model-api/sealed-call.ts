/** A client's call whose compaction elements are sealed on their way out. */
import { pipeline, Transform } from "node:stream";
import { attempt } from "@pagurus/core/data/attempt";
import { leavesElement } from "@pagurus/gateway/dialect/responses/responses-answer";
import type { WireRequest } from "@pagurus/gateway/dialect/wire-dialect";
import type { WireCall } from "@pagurus/gateway/server/gateway-call";
import type { Tap } from "@pagurus/gateway/server/relay";
import type { UpstreamAnswer } from "@pagurus/gateway/upstream/upstream";
import { sealElements, type GetSeal } from "./sealed-elements.ts";

/** The call for its handler. */
export function sealedCall(call: WireCall, request: WireRequest, seal: GetSeal): WireCall {
  const leaves = request.compaction?.isWhole === true || leavesElement(request);
  return {
    ...call,
    reply: (reply) => call.reply(sealElements(reply, seal)),
    // Only an answer to a compaction has an element of ours; the others stream as they come.
    pass: (answer, tap) =>
      leaves ? call.pass({ ...answer, ...sealedAnswer(answer, seal, tap) }) : call.pass(answer, tap),
  };
}

/** The whole answer, sealed. The tap gets the chunks of the model's server; its errors are ignored. */
function sealedAnswer(
  { status, headers, rawHeaders, stream }: UpstreamAnswer,
  seal: GetSeal,
  tap: Tap | undefined,
): Pick<UpstreamAnswer, "rawHeaders" | "stream"> {
  const kept = rawHeaders.flatMap((value, at) =>
    (rawHeaders[at - (at % 2)] ?? "").toLowerCase() === "content-length" ? [] : [value],
  );
  const chunks: Buffer[] = [];
  const through = new Transform({
    transform(chunk: Buffer, _, done) {
      chunks.push(chunk);
      attempt(() => tap?.(chunk));
      done();
    },
    flush(done) {
      const type = String(headers["content-type"]);
      const reply = { status, headers: { "content-type": type }, body: Buffer.concat(chunks) };
      this.push(sealElements(reply, seal).body);
      done();
    },
  });
  // A cut of one is a cut of the other.
  pipeline(stream, through, () => undefined);
  return { rawHeaders: kept, stream: through };
}
