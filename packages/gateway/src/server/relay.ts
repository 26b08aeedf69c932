/**
 * Relays a model's answer: each chunk is written as soon as it arrives, and no more is read from the model than the client takes. A
 * cut of the model's answer is a cut for the client, never a regular end.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { attempt } from "@pagurus/core/data/attempt";
import type { UpstreamAnswer } from "../upstream/upstream.ts";
import { endToEnd, valueOf } from "./headers.ts";
import { PieceSender } from "./pieces.ts";

export interface Passed {
  /** The answer was cut on the model's side. */
  cut: boolean;
  /** The client disconnected, or its route was closed, before the end. */
  left: boolean;
  /** Bytes of the answer's body. */
  bytes: number;
  /** The client disconnected, or was ended, after a whole server-sent event. */
  isAfterEvent?: boolean;
}

export type Tap = (chunk: Buffer) => void;

const NOTHING = Buffer.alloc(0);
/** Bytes that show whether an event is whole. */
const TAIL = 4;
const EVENT_END = /(?:\n\n|\r\n\r\n)$/;

/** How the client detects the end of the answer; `close` is the only way of HTTP/1.0 for an answer of unknown length. */
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
  /** Calls back when the response is over, or at once if it is already. `whole`: all of it was sent. */
  onOver(listener: (whole: boolean) => void): void;
}

function sendHead({ request, response }: RelayTarget, answer: UpstreamAnswer): Framing {
  const rawHeaders = endToEnd(answer.rawHeaders);
  const framing = framingOf(request, answer, rawHeaders);
  if (framing === "chunked") rawHeaders.push("transfer-encoding", "chunked");
  response.sendDate = false;
  // Node would announce chunked coding to a client of HTTP/1.0 that accepts it.
  if (framing === "close") response.useChunkedEncodingByDefault = false;
  response.writeHead(answer.status, rawHeaders);
  // Not `flushHeaders`, which re-encodes header bytes beyond ASCII. An answer without a body ends right away.
  if (framing !== "none") response.write(NOTHING);
  return framing;
}

/** Closes the connection without the end of the answer, but after all that came before. */
function cutOff(target: RelayTarget, framing: Framing): void {
  const { request, response } = target;
  // An earlier answer on the connection is not over yet; the held chunks are sent after it.
  if (response.socket === null)
    return void response.once("socket", () => process.nextTick(cutOff, target, framing));
  // With this framing a close would be a regular end; a reset is not.
  if (framing === "close") request.socket.resetAndDestroy();
  else request.socket.destroySoon();
  return undefined;
}

/** Whether the answer is of server-sent events that can be read as they are. */
function isEventStream(rawHeaders: readonly string[]): boolean {
  const type = valueOf(rawHeaders, "content-type") ?? "";
  return type.startsWith("text/event-stream") && valueOf(rawHeaders, "content-encoding") === undefined;
}

/** `passed` is updated while the answer is relayed. */
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
    const hasEvents = isEventStream(answer.rawHeaders);
    const { socket } = target.response;
    const drains = socket ?? target.response;
    const sender = new PieceSender({
      // Without a socket an earlier answer on the connection is not over yet; the response object keeps the order.
      to: socket === null || framing === "none" ? target.response : socket,
      isChunked: socket !== null && framing === "chunked",
      onFull: () => void stream.pause(),
    });
    const onDrain = (): void => void stream.resume();
    let tail = Buffer.from("\n\n");
    let pending: Buffer[] = [];
    /** Calls `tap` after the chunk was written, so that it delays nothing. */
    const listen = (): void => {
      const chunks = pending;
      pending = [];
      // An error of the tap must not affect the answer.
      for (const chunk of chunks) attempt(() => tap?.(chunk));
    };
    const onData = (chunk: Buffer): void => {
      if (over) return;
      passed.bytes += chunk.length;
      sender.add(chunk);
      if (hasEvents) tail = Buffer.concat([tail, chunk.subarray(-TAIL)]).subarray(-TAIL);
      if (tap === undefined) return;
      if (pending.length === 0) process.nextTick(listen);
      pending.push(chunk);
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
    // Errors after the end, or of a stream that was destroyed here, are ignored.
    stream.on("error", onCut).on("close", onCut).on("end", onEnd).on("data", onData);
    drains.on("drain", onDrain);
    target.onOver((whole) => {
      over = true;
      const isEmpty = sender.isEmpty;
      sender.drop();
      listen();
      drains.off("drain", onDrain);
      passed.left = !whole && !passed.cut;
      if (passed.left && hasEvents) passed.isAfterEvent = isEmpty && EVENT_END.test(tail.toString("latin1"));
      if (!ended) stream.destroy();
      resolve(passed);
    });
  });
}
