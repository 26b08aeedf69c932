/**
 * JSON-RPC over a pair of streams, one JSON object a line. The `jsonrpc` field is neither sent nor required: Codex leaves it
 * out, and peers that send it work as well.
 */
import type { Readable, Writable } from "node:stream";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { LONGEST_TIMER_MS } from "../platform/deadline.ts";
import { LineSplitter } from "./rpc-lines.ts";
import { Outbox } from "./outbox.ts";
import { durationText } from "../platform/duration.ts";
import { defined } from "../data/defined.ts";

/** Error codes of JSON-RPC 2.0, section 5.1. */
export const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

/** Longer lines are not a harness's messages, and buffering them would exhaust memory. */
const MOST_LINE_BYTES = 256 * 1024 * 1024;

type RequestId = string | number;

export interface RpcHandlers {
  notification(method: string, params: unknown): void;
  /** Handles a request of the other side; a thrown error is answered as a JSON-RPC error. */
  request(method: string, params: unknown): Promise<unknown>;
  /** Why the connection ended, where the owner of the streams knows more; called once, before anything is rejected. */
  ended?(): Promise<PagurusError>;
  /** A notification handler threw; the connection continues. */
  problem?(error: unknown): void;
  /** A line was not a JSON object; `count` is the total so far. */
  skipped?(count: number): void;
}

export interface RpcRequestOptions {
  signal?: AbortSignal | undefined;
  /** Timeout, ms; by default a request waits as long as the connection lives. */
  deadlineMs?: number | undefined;
}

/** Error response of the other side; thrown by a handler, our error response. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(message: string, code: number, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

interface Pending {
  method: string;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

type Message = Record<string, unknown>;

/** One side of a connection. Reads from its creation on, and never ends or destroys the streams. */
export class RpcPeer {
  /** Resolves with the reason when the connection is over, whichever side ended it. */
  readonly closed: Promise<PagurusError>;
  readonly #input: Readable;
  readonly #handlers: RpcHandlers;
  readonly #outbox: Outbox;
  readonly #splitter: LineSplitter;
  readonly #pending = new Map<RequestId, Pending>();
  #lines: string[] = [];
  /** Index of the first unhandled line in `#lines`. */
  #nextLine = 0;
  #nextId = 1;
  #skipped = 0;
  #reading = false;
  #inputEnded = false;
  #reason: PagurusError | undefined;
  #resolveClosed: (reason: PagurusError) => void = () => undefined;

  constructor(
    streams: { input: Readable; output: Writable },
    handlers: RpcHandlers,
    options: { mostLineBytes?: number } = {},
  ) {
    this.#input = streams.input;
    this.#handlers = handlers;
    this.#outbox = new Outbox(streams.output);
    this.#splitter = new LineSplitter(options.mostLineBytes ?? MOST_LINE_BYTES);
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.#input.on("data", this.#onData);
    for (const event of ["end", "close", "error"]) this.#input.once(event, this.#onEnd);
    // A broken pipe can be reported more than once, also after the end.
    this.#input.on("error", () => undefined);
    streams.output.on(
      "error",
      (error) => void this.#finish(failed(`The connection broke while writing: ${error.message}.`, error)),
    );
  }

  /** Number of skipped lines, which were not JSON objects. */
  get skippedLines(): number {
    return this.#skipped;
  }

  /**
   * Rejects with RpcError, with PagurusError `runtime_failed` when the connection ends or the deadline passes, `turn_aborted`
   * on the signal. An abort is not sent to the other side: protocols differ in how.
   */
  request(method: string, params: unknown, options: RpcRequestOptions = {}): Promise<unknown> {
    const { signal, deadlineMs } = options;
    if (signal?.aborted) return Promise.reject(aborted(method, signal));
    if (this.#reason) return Promise.reject(this.#reason);
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      let takeBack: () => boolean = () => false;
      let timer: NodeJS.Timeout | undefined;
      const settle = (): void => {
        this.#pending.delete(id);
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      };
      const giveUp = (error: PagurusError): void => {
        takeBack();
        pending.reject(error);
      };
      const onAbort = (): void => giveUp(aborted(method, signal));
      const pending: Pending = {
        method,
        resolve: (value) => {
          settle();
          resolve(value);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      this.#pending.set(id, pending);
      signal?.addEventListener("abort", onAbort, { once: true });
      if (deadlineMs !== undefined) {
        const ms = Math.min(deadlineMs, LONGEST_TIMER_MS);
        timer = setTimeout(
          () => giveUp(failed(`\`${method}\` was not answered within ${durationText(ms)}.`)),
          ms,
        );
      }
      takeBack = this.#outbox.send({ id, method, ...defined({ params }) });
    });
  }

  /** No-op after the end of the connection. */
  notify(method: string, params?: unknown): void {
    this.#outbox.send({ method, ...defined({ params }) });
  }

  /** Rejects all open requests with the reason. Later lines are read and dropped. */
  close(reason: Error): void {
    if (this.#reason) return;
    const error = isPagurusError(reason) ? reason : failed(reason.message, reason);
    this.#reason = error;
    this.#lines = [];
    this.#outbox.close();
    this.#input.off("data", this.#onData);
    // Drains the stream, since a full pipe would keep the other side from ending.
    this.#input.resume();
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#resolveClosed(error);
  }

  readonly #onData = (chunk: Buffer | string): void => {
    try {
      const lines = this.#splitter.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
      for (const line of lines) this.#lines.push(line);
    } catch (error) {
      const what = error instanceof RangeError ? error.message : String(error);
      this.close(failed(`The connection was ended: the other side sent ${what}.`, error));
      return;
    }
    if (!this.#reading) this.#read();
  };

  /**
   * Handles the lines that are there. After an answer it yields to the caller: what follows the answer on the wire (events of
   * the started thread, say) must find a listener.
   */
  #read(): void {
    this.#reading = false;
    while (!this.#reading && this.#nextLine < this.#lines.length) {
      const line = this.#lines[this.#nextLine++] ?? "";
      this.#reading = this.#take(line);
      if (this.#reason) return;
    }
    if (this.#nextLine >= this.#lines.length) {
      this.#lines = [];
      this.#nextLine = 0;
    }
    if (this.#reading) {
      setImmediate(() => this.#read());
    } else if (this.#inputEnded) {
      void this.#finish();
    }
  }

  readonly #onEnd = (): void => {
    if (this.#inputEnded) return;
    this.#inputEnded = true;
    if (this.#splitter.heldBytes > 0) this.#skip();
    if (!this.#reading) void this.#finish();
  };

  async #finish(seen = failed("The other side ended the connection.")): Promise<void> {
    const reason = await this.#handlers.ended?.().catch(() => undefined);
    this.close(reason ?? seen);
  }

  /** True when the line was an answer to a request of ours. */
  #take(line: string): boolean {
    if (line === "") return false;
    const message = parse(line);
    if (!message) {
      this.#skip();
      return false;
    }
    const { id, method } = message;
    if (typeof method === "string") {
      if (isId(id)) void this.#answer(id, method, message["params"]);
      else this.#notified(method, message["params"]);
      return false;
    }
    const pending = isId(id) ? this.#pending.get(id) : undefined;
    // No caller waits for it any more: aborted, or past its deadline.
    if (!pending) return false;
    if ("error" in message) pending.reject(errorOf(message["error"], pending.method));
    else pending.resolve(message["result"]);
    return true;
  }

  #skip(): void {
    this.#skipped += 1;
    this.#handlers.skipped?.(this.#skipped);
  }

  #notified(method: string, params: unknown): void {
    try {
      this.#handlers.notification(method, params);
    } catch (error) {
      this.#handlers.problem?.(error);
    }
  }

  async #answer(id: RequestId, method: string, params: unknown): Promise<void> {
    try {
      const result = await this.#handlers.request(method, params);
      this.#outbox.send({ id, result: result ?? {} });
    } catch (error) {
      const code = error instanceof RpcError ? error.code : INTERNAL_ERROR;
      const message = error instanceof Error ? error.message : "The request failed.";
      const data = error instanceof RpcError && error.data !== undefined ? { data: error.data } : {};
      this.#outbox.send({ id, error: { code, message, ...data } });
    }
  }
}

function isId(value: unknown): value is RequestId {
  return typeof value === "string" || typeof value === "number";
}

function parse(line: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Message)
      : undefined;
  } catch {
    return undefined;
  }
}

function errorOf(error: unknown, method: string): RpcError {
  const { code, message, data } = (typeof error === "object" ? (error ?? {}) : {}) as Record<string, unknown>;
  return new RpcError(
    typeof message === "string" ? message : `\`${method}\` failed without a message.`,
    typeof code === "number" ? code : INTERNAL_ERROR,
    data,
  );
}

function failed(message: string, cause?: unknown): PagurusError {
  return new PagurusError("runtime_failed", message, { cause });
}

function aborted(method: string, signal: AbortSignal | undefined): PagurusError {
  return new PagurusError("turn_aborted", `\`${method}\` was aborted.`, { cause: signal?.reason });
}
