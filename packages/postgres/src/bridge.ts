/**
 * Calls into the database that the caller waits for without leaving its function, since the store's contract is synchronous. One thread owns
 * the connections; it renews leases also while the host's own thread works.
 */
import { extname } from "node:path";
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from "node:worker_threads";
import { PagurusError, type ErrorCode } from "@pagurus/contract/errors";
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

/** A call that was sent. */
export interface Asked<M extends Method> {
  id: number;
  method: M;
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
  /** Calls whose answer is waited for, each with the nonce of the lease or hold that it takes; and the answers that came before that. */
  readonly #asked = new Map<number, string | undefined>();
  readonly #early = new Map<number, Reply>();
  #thread: { worker: Worker; port: MessagePort; signal: Int32Array } | undefined;
  #calls = 0;

  constructor(target: Target) {
    this.target = target;
  }

  /** Throws the thread's error, or `store_read_failed` when no answer comes in time. */
  call<M extends Method>(method: M, request: Request<M>): Answer<M> {
    const isLong = method === "publish" || method === "mirror" || method === "search";
    return this.#call(method, request, isLong ? LONG_WAIT_MS : WAIT_MS) as Answer<M>;
  }

  /** Sends a call whose answer `answerOf` waits for later. */
  ask<M extends Method>(method: M, request: Request<M>): Asked<M> {
    return { id: this.#ask(method, request), method };
  }

  /** As `call`. */
  answerOf<M extends Method>({ id, method }: Asked<M>): Answer<M> {
    return this.#answer(id, method, WAIT_MS) as Answer<M>;
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
    return this.#answer(this.#ask(method, request), method, waitMs);
  }

  #ask(method: Method, request: unknown): number {
    const id = (this.#calls += 1);
    this.#asked.set(id, nonceOf(request));
    this.#send({ id, method, request, wait: true });
    return id;
  }

  #answer(id: number, method: Method, waitMs: number): unknown {
    const giveUpAt = performance.now() + waitMs;
    try {
      for (;;) {
        const signal = this.#thread?.signal;
        const seen = signal ? Atomics.load(signal, 0) : 0;
        for (let reply = this.#receive(); reply; reply = this.#receive()) this.#note(reply);
        const answer = this.#early.get(id);
        if (answer?.error) throw errorOf(answer.error);
        if (answer) return answer.value;
        const left = giveUpAt - performance.now();
        if (left <= 0 || !signal) {
          this.#giveUp(this.#asked.get(id));
          throw this.#silent(waitMs);
        }
        Atomics.wait(signal, 0, seen, left);
      }
    } finally {
      this.#asked.delete(id);
      this.#early.delete(id);
    }
  }

  /** A lease or a hold that comes too late would be renewed forever. */
  #giveUp(nonce: string | undefined): void {
    if (nonce !== undefined && this.#thread) this.post("giveUp", { nonce });
  }

  #silent(waitMs: number): PagurusError {
    const { place } = this.target;
    return new PagurusError(
      "store_unreachable",
      `The database ${place} did not answer within ${waitMs / 1_000} s; check that the server runs, and the network.`,
      { details: { place } },
    );
  }

  #send(call: Call): void {
    this.#thread ??= this.#begin();
    this.#thread.port.postMessage(call);
  }

  #receive(): Reply | undefined {
    return this.#thread && (receiveMessageOnPort(this.#thread.port)?.message as Reply | undefined);
  }

  #note(reply: Reply): void {
    const { id, lane, error } = reply;
    if (id !== undefined && this.#asked.has(id)) this.#early.set(id, reply);
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

/** Only what takes a lease or a hold names a holder. */
function nonceOf(request: unknown): string | undefined {
  return (request as { holder?: { nonce: string } } | undefined)?.holder?.nonce;
}

function errorOf({ code, message, details }: NonNullable<Reply["error"]>): PagurusError {
  return new PagurusError(code, message, { details });
}
