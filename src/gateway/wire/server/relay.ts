/**
 * Passes a model's answer on as it comes: each piece is written in the moment in which it arrives, and no more of it is taken
 * from the model than the client takes. A cut of the model's is a cut for the client, never an end.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { UpstreamAnswer } from "../upstream/upstream.ts";
import { endToEnd, valueOf } from "./headers.ts";
import { PieceSender } from "./pieces.ts";

export interface Passed {
  /** The answer broke off on the model's side. */
  cut: boolean;
  /** The client left, or its route was closed, before the end. */
  left: boolean;
  /** Of the answer's body. */
  bytes: number;
}

export type Tap = (chunk: Buffer) => void;

const NOTHING = Buffer.alloc(0);

/** How the client learns where the answer ends; `close` is all that HTTP/1.0 has for an answer of unknown length. */
type Framing = "none" | "length" | "chunked" | "close";

function framingOf(request: IncomingMessage, answer: UpstreamAnswer, rawHeaders: readonly string[]): Framing {
  const { status } = answer;
  if (request.method === "HEAD" || status === 204 || status === 304) return "none";
  if (valueOf(rawHeaders, "content-length") !== undefined) return "length";
  return request.httpVersionMinor === 0 ? "close" : "chunked";
}

interface RelayTarget {
  request: IncomingMessage;
  response: ServerResponse;
  /** Calls back when the response is over, at once where it is. `whole`: all of it went out. */
  onOver(listener: (whole: boolean) => void): void;
}

function sendHead({ request, response }: RelayTarget, answer: UpstreamAnswer): Framing {
  const rawHeaders = endToEnd(answer.rawHeaders);
  const framing = framingOf(request, answer, rawHeaders);
  if (framing === "chunked") rawHeaders.push("transfer-encoding", "chunked");
  response.sendDate = false;
  // To a client of HTTP/1.0 that says it takes chunks Node would promise them.
  if (framing === "close") response.useChunkedEncodingByDefault = false;
  response.writeHead(answer.status, rawHeaders);
  // Not `flushHeaders`, which says bytes of headers beyond ASCII anew. Without a body the end is about to come.
  if (framing !== "none") response.write(NOTHING);
  return framing;
}

/** Ends the connection without the end of the answer, but with all that came before. */
function cutOff(target: RelayTarget, framing: Framing): void {
  const { request, response } = target;
  // An earlier answer on the connection is not over yet; then what is held of this one goes out first.
  if (response.socket === null)
    return void response.once("socket", () => process.nextTick(cutOff, target, framing));
  // There a closed connection would be a proper end; a reset one is not.
  if (framing === "close") request.socket.resetAndDestroy();
  else request.socket.destroySoon();
  return undefined;
}

/** `passed` is kept up to date on the way. */
export function relay(
  target: RelayTarget,
  answer: UpstreamAnswer,
  passed: Passed,
  tap?: Tap,
): Promise<Passed> {
  const { stream } = answer;
  return new Promise((resolve) => {
    let ended = false;
    let over = false;
    const framing = sendHead(target, answer);
    const { socket } = target.response;
    const drains = socket ?? target.response;
    const sender = new PieceSender({
      // Without a socket an earlier answer on the connection is not over yet; the response object keeps the order.
      to: socket === null || framing === "none" ? target.response : socket,
      isChunked: socket !== null && framing === "chunked",
      onFull: () => void stream.pause(),
    });
    const onDrain = (): void => void stream.resume();
    let heard: Buffer[] = [];
    /** After what was heard is on its way: who listens holds nothing up. */
    const listen = (): void => {
      const chunks = heard;
      heard = [];
      for (const chunk of chunks) {
        try {
          tap?.(chunk);
        } catch {
          // Who listens may fail; the answer is not theirs to hold up.
        }
      }
    };
    const onData = (chunk: Buffer): void => {
      if (over) return;
      passed.bytes += chunk.length;
      sender.add(chunk);
      if (tap === undefined) return;
      if (heard.length === 0) process.nextTick(listen);
      heard.push(chunk);
    };
    const onEnd = (): void => {
      ended = true;
      if (over) return;
      sender.flush();
      target.response.end();
    };
    const onCut = (): void => {
      if (ended || over || passed.cut) return;
      passed.cut = true;
      sender.flush();
      cutOff(target, framing);
    };
    // An error after the end, or of what was destroyed here, is nobody's.
    stream.on("error", onCut).on("close", onCut).on("end", onEnd).on("data", onData);
    drains.on("drain", onDrain);
    target.onOver((whole) => {
      over = true;
      sender.drop();
      listen();
      drains.off("drain", onDrain);
      passed.left = !whole && !passed.cut;
      if (!ended) stream.destroy();
      resolve(passed);
    });
  });
}
