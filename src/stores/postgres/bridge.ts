/**
 * Calls into the database that the caller waits for without leaving its function, since the store's contract is synchronous. One thread owns
 * the connections; it renews leases also while the host's own thread works.
 */
import { extname } from "node:path";
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from "node:worker_threads";
import { PagurusError, type ErrorCode } from "../../contract/errors.ts";
import type { Target } from "./settings.ts";
import type { SharedDatabase } from "./shared-database.ts";

export interface BridgeStart {
  target: Target;
  port: MessagePort;
  /** Counts the replies. */
  signal: Int32Array;
}

type Method = Exclude<keyof SharedDatabase, symbol>;
type Request<M extends Method> = Parameters<SharedDatabase[M]>[0];
type Answer<M extends Method> = Awaited<ReturnType<SharedDatabase[M]>>;

export interface Call {
  id: number;
  method: Method;
  request: unknown;
  /** Whether an answer is wanted. */
  wait: boolean;
}

export interface Reply {
  /** The call that is answered. */
  id?: number;
  /** The writer that lost its lease. */
  lane?: string;
  value?: unknown;
  error?: { code: ErrorCode; message: string; details: Record<string, unknown> };
}

/** How long an answer is waited for, ms; longer than the thread tries again after a cut connection. */
const WAIT_MS = 15_000;
/** For whole transcripts. */
const LONG_WAIT_MS = 300_000;
const END_WAIT_MS = 2_000;

export class Bridge {
  readonly target: Target;
  readonly #lost = new Map<string, PagurusError>();
  readonly #users = new Set<object>();
  #thread: { worker: Worker; port: MessagePort; signal: Int32Array } | undefined;
  #calls = 0;

  constructor(target: Target) {
    this.target = target;
  }

  /** Throws the thread's error, or `store_read_failed` when no answer comes in time. */
  call<M extends Method>(method: M, request: Request<M>): Answer<M> {
    const isLong = method === "publish" || method === "mirror";
    return this.#call(method, request, isLong ? LONG_WAIT_MS : WAIT_MS) as Answer<M>;
  }

  /** Sends without waiting; a failure is reported by `failureOf`. */
  post<M extends Method>(method: M, request: Request<M>): void {
    this.#send({ id: (this.#calls += 1), method, request, wait: false });
  }

  /** Why a lane's writer can write nothing more. */
  failureOf(lane: string): PagurusError | undefined {
    for (let reply = this.#receive(); reply; reply = this.#receive()) this.#note(reply);
    return this.#lost.get(lane);
  }

  forget(lane: string): void {
    this.#lost.delete(lane);
  }

  use(user: object): void {
    this.#users.add(user);
  }

  /** Ends the thread with its last user; leases that it still has are released. Never throws. */
  end(user: object): void {
    this.#users.delete(user);
    const thread = this.#thread;
    if (this.#users.size > 0 || !thread) return;
    try {
      this.#call("end", undefined, END_WAIT_MS);
    } catch {
      // Its leases run out by themselves.
      return;
    } finally {
      thread.port.close();
      void thread.worker.terminate();
      this.#thread = undefined;
    }
  }

  #call(method: Method, request: unknown, waitMs: number): unknown {
    const id = (this.#calls += 1);
    const { signal } = this.#send({ id, method, request, wait: true });
    const giveUpAt = performance.now() + waitMs;
    for (;;) {
      const seen = Atomics.load(signal, 0);
      for (let reply = this.#receive(); reply; reply = this.#receive()) {
        if (reply.id !== id) this.#note(reply);
        else if (reply.error) throw errorOf(reply.error);
        else return reply.value;
      }
      const left = giveUpAt - performance.now();
      if (left <= 0) throw this.#silent(method, waitMs);
      Atomics.wait(signal, 0, seen, left);
    }
  }

  #silent(method: Method, waitMs: number): PagurusError {
    const writes = ["append", "publish", "remove", "acquire", "release", "hold"].includes(method);
    const { place } = this.target;
    return new PagurusError(
      writes ? "store_write_failed" : "store_read_failed",
      `The database ${place} did not answer within ${waitMs / 1_000} s; check that the server runs, and the network.`,
      { details: { place } },
    );
  }

  #send(call: Call): { signal: Int32Array } {
    this.#thread ??= this.#begin();
    this.#thread.port.postMessage(call);
    return this.#thread;
  }

  #receive(): Reply | undefined {
    return this.#thread && (receiveMessageOnPort(this.#thread.port)?.message as Reply | undefined);
  }

  #note({ lane, error }: Reply): void {
    if (lane !== undefined && error) this.#lost.set(lane, errorOf(error));
  }

  #begin(): { worker: Worker; port: MessagePort; signal: Int32Array } {
    const { port1, port2 } = new MessageChannel();
    const signal = new Int32Array(new SharedArrayBuffer(4));
    const start: BridgeStart = { target: this.target, port: port2, signal };
    // Works for sources and for built files: the worker has the same file extension as this file.
    const worker = new Worker(new URL(`./worker${extname(import.meta.url)}`, import.meta.url), {
      workerData: start,
      transferList: [port2],
    });
    worker.unref();
    worker.once("error", () => {
      // Its leases are gone with it: their next append is refused by the next thread, which does not know them.
      this.#thread = undefined;
    });
    return { worker, port: port1, signal };
  }
}

function errorOf({ code, message, details }: NonNullable<Reply["error"]>): PagurusError {
  return new PagurusError(code, message, { details });
}
