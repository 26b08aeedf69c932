/** One attempt to send a request. */
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { DirectAgents } from "./direct-agents.ts";
import type { UpstreamAnswer } from "./upstream.ts";
import { endToEnd } from "../server/headers.ts";

/** Limit of an answer's headers; more than providers send. */
const MAX_HEADER_BYTES = 64 * 2 ** 10;

export interface Attempt {
  url: URL;
  method: string;
  path: string;
  headers: readonly string[];
  body: readonly Buffer[];
  agents: DirectAgents;
  /** Uses a new connection of its own, with Node's default reads. */
  isFresh: boolean;
  connectMs: number;
  signal: AbortSignal;
}

/** An attempt without an answer. */
export class AttemptError extends Error {
  override readonly name = "AttemptError";
  /** Error code of the system, such as `ECONNREFUSED`. */
  readonly code: string;
  /** The endpoint had closed the kept connection before it could have read the request. */
  readonly isStale: boolean;

  constructor(error: Error & { code?: string }, isStale: boolean) {
    super(error.message, { cause: error });
    this.code = error.code ?? "no code";
    this.isStale = isStale;
  }
}

const STALE: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE"]);

function openRequest(attempt: Attempt): ClientRequest {
  const { url, method, path, agents } = attempt;
  const isSecure = url.protocol === "https:";
  const agent = attempt.isFresh ? false : isSecure ? agents.https : agents.http;
  const options = {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
    method,
    path,
    headers: attempt.headers,
    agent,
    setDefaultHeaders: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    noDelay: true,
  };
  return isSecure ? httpsRequest(options) : httpRequest(options);
}

function answerOf(response: IncomingMessage): UpstreamAnswer {
  return {
    status: response.statusCode ?? 0,
    rawHeaders: endToEnd(response.rawHeaders),
    headers: response.headers,
    stream: response,
  };
}

function write(request: ClientRequest, body: readonly Buffer[]): void {
  const last = body.at(-1);
  if (last === undefined) return void request.end();
  for (const part of body.slice(0, -1)) request.write(part);
  request.end(last);
}

/** Aborts a connection that is not established in time. */
function limitConnecting(request: ClientRequest, ms: number): void {
  request.once("socket", (socket) => {
    if (!socket.connecting) return;
    const late = Object.assign(new Error("The connection took too long."), { code: "ETIMEDOUT" });
    const timer = setTimeout(() => request.destroy(late), ms);
    const clear = (): void => clearTimeout(timer);
    socket.once("connect", clear).once("close", clear);
  });
}

/** Resolves at the head of the answer. Throws `AttemptError`; any error after the signal fired. */
export function attemptOnce(attempt: Attempt): Promise<UpstreamAnswer> {
  const request = openRequest(attempt);
  const answer = answerTo(request, attempt);
  if (!attempt.signal.aborted) write(request, attempt.body);
  return answer;
}

/** Only listens for the abort while the answer streams; keeps nothing of the request. */
function answerTo(
  request: ClientRequest,
  { signal, connectMs, agents: { reads } }: Attempt,
): Promise<UpstreamAnswer> {
  return new Promise((resolve, reject) => {
    request.maxHeadersCount = 0;
    const onAbort = (): void => void request.destroy(new Error("The request was aborted."));
    const release = (): void => signal.removeEventListener("abort", onAbort);
    signal.addEventListener("abort", onAbort, { once: true });
    request.once("close", release);
    request.on("response", (response: IncomingMessage) => {
      // An error before the stream has a reader must not be unhandled.
      response.on("error", () => undefined);
      response.once("close", reads.begin());
      resolve(answerOf(response));
    });
    request.on("error", (error: Error & { code?: string }) => {
      reject(new AttemptError(error, request.reusedSocket && STALE.has(error.code ?? "")));
    });
    limitConnecting(request, connectMs);
    if (signal.aborted) onAbort();
  });
}
