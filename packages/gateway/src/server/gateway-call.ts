/** One request of a harness, as the handler of its route sees it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { WireHeaders, WireReply } from "../dialect/wire-dialect.ts";
import type { UpstreamAnswer } from "../upstream/upstream.ts";
import { hasBody, readRequestBody } from "./body.ts";
import type { WireLimits } from "./limits.ts";
import { relay, type Passed, type Tap } from "./relay.ts";

export interface WireCall {
  /** Number of the request on its route, from 0. */
  readonly id: number;
  readonly method: string;
  /** Without token and version: `/responses`. */
  readonly path: string;
  /** Including its question mark; empty without a query. */
  readonly query: string;
  /** Without the run token, here and in `rawHeaders`. */
  readonly headers: WireHeaders;
  readonly rawHeaders: readonly string[];
  /** Fires when the client disconnects or the route closes. */
  readonly signal: AbortSignal;
  /** The complete body; cached until an answer is passed on. Throws `WireCallError`. */
  body(): Promise<Buffer>;
  /** Sends this reply. Does nothing if an answer has begun or the client has disconnected. */
  reply(reply: WireReply): void;
  /**
   * Passes an answer on byte for byte as it comes; `tap` gets each chunk, and its errors are ignored. Resolves when the client has
   * the answer, or either side has disconnected. Never throws.
   */
  pass(answer: UpstreamAnswer, tap?: Tap): Promise<Passed>;
}

export interface CallTarget {
  readonly path: string;
  readonly query: string;
  readonly headers: WireHeaders;
  readonly rawHeaders: readonly string[];
}

/** Counts and durations of a call, for the log. */
interface CallFacts {
  status: number;
  bytesIn: number;
  bytesOut: number;
  ms: number;
  isCut: boolean;
  isWhole: boolean;
}

/** A request from its head until its response is over. */
export class ServerCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly #limits: WireLimits;
  readonly #controller = new AbortController();
  readonly #begun = performance.now();
  #body: Promise<Buffer> | undefined;
  #listeners: ((whole: boolean) => void)[] = [];
  #whole: boolean | undefined;
  #bytesIn = 0;
  readonly #passed: Passed = { cut: false, left: false, bytes: 0 };
  /** The client waits for `100 Continue` before it sends the body. */
  readonly #waits: boolean;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    options: { limits: WireLimits; waits: boolean },
  ) {
    this.request = request;
    this.response = response;
    this.#limits = options.limits;
    this.#waits = options.waits;
    const { socket } = request;
    const onClose = (): void => this.#over(response.writableFinished);
    socket.once("close", onClose);
    response.once("finish", () => {
      socket.off("close", onClose);
      this.#over(true);
    });
  }

  /** Calls back when the response is over: all of it was sent (`whole`), or the connection is gone. At once if it is over already. */
  onOver(listener: (whole: boolean) => void): void {
    if (this.#whole === undefined) this.#listeners.push(listener);
    else listener(this.#whole);
  }

  get isOver(): boolean {
    return this.#whole !== undefined;
  }

  get facts(): CallFacts {
    return {
      status: this.response.headersSent ? this.response.statusCode : 0,
      bytesIn: this.#bytesIn,
      bytesOut: this.#passed.bytes,
      ms: Math.round(performance.now() - this.#begun),
      isCut: this.#passed.cut,
      isWhole: this.#whole ?? false,
    };
  }

  /** Fires the signal, and closes the connection even if an answer has begun. */
  abort(reason: Error): void {
    // First, so that the end which this causes upstream does not count as a cut.
    this.#over(false, reason);
    this.request.socket.destroy();
  }

  /**
   * Ends the call from this side; its handler sees a client that left. The client gets the reply, or after a beginning of events
   * `last`, which is an event. Any other answer that has begun is cut.
   */
  leave(reply: WireReply, last: Buffer): void {
    if (this.isOver) return;
    const { request, response } = this;
    const hasBegun = response.headersSent;
    this.reply(reply);
    this.#over(false, new Error("The authority of the client ended."));
    if (!hasBegun) return;
    if (this.#passed.isAfterEvent === true) response.end(last);
    else request.socket.destroySoon();
  }

  reply({ status, headers, body }: WireReply): void {
    const { request, response } = this;
    if (response.headersSent || this.isOver) return;
    const isWhole = request.complete || !hasBody(request);
    this.#passed.bytes = body.length;
    response.writeHead(status, {
      ...headers,
      "content-length": body.length,
      ...(isWhole ? {} : { connection: "close" }),
    });
    if (isWhole) return void response.end(body);
    response.write(body);
    return this.#linger();
  }

  /** Delays the close: a connection that is closed while its client still sends is reset, and the client may never read its answer. */
  #linger(): void {
    const end = (): void => {
      clearTimeout(timer);
      this.request.off("end", end);
      this.response.end();
    };
    const timer = setTimeout(end, this.#limits.lingerMs);
    this.onOver(() => clearTimeout(timer));
    this.request.once("end", end).resume();
  }

  body(): Promise<Buffer> {
    if (this.#body !== undefined) return this.#body;
    const length = Number(this.request.headers["content-length"] ?? 0);
    if (this.#waits && length <= this.#limits.maxBodyBytes) this.response.writeContinue();
    this.#body = readRequestBody(this.request, this.#limits).then((body) => {
      this.#bytesIn = body.length;
      return body;
    });
    return this.#body;
  }

  async pass(answer: UpstreamAnswer, tap?: Tap): Promise<Passed> {
    if (this.response.headersSent || this.isOver) {
      answer.stream.on("error", () => undefined).destroy();
      return { cut: false, left: true, bytes: 0 };
    }
    this.#body = undefined;
    return relay(this, answer, this.#passed, tap);
  }

  /** The view of the call for a route's handler. */
  as(id: number, target: CallTarget): WireCall {
    return {
      id,
      method: this.request.method ?? "GET",
      path: target.path,
      query: target.query,
      get headers() {
        return target.headers;
      },
      rawHeaders: target.rawHeaders,
      signal: this.#controller.signal,
      body: () => this.body(),
      reply: (reply) => this.reply(reply),
      pass: (answer, tap) => this.pass(answer, tap),
    };
  }

  #over(whole: boolean, reason = new Error("The client disconnected.")): void {
    if (this.#whole !== undefined) return;
    this.#whole = whole;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener(whole);
    // If we closed the connection because the model's was cut, the client did not disconnect.
    if (!whole && !this.#passed.cut) this.#controller.abort(reason);
  }
}
