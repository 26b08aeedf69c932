/** The main thread's side of `worker.ts`: starts the thread on demand, and ends it after an idle time. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { ERROR_CODES, PagurusError, type ErrorCode } from "@pagurus/contract/errors";
import { StoreDamage } from "./damage.ts";
import { Gate } from "./write-gate.ts";
import type { Reply, Request, Start, Tasks } from "./tasks.ts";

const IDLE_MS = 5_000;
/**
 * Size of the thread's young generation. Received data lives for one transaction and has to fit: objects that move to the
 * old generation stay resident for longer. A larger size only keeps more memory resident.
 */
const YOUNG_MB = 16;

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

/** A running thread. */
interface Running {
  worker: Worker;
  gate: Gate;
  waiting: Map<number, Waiting>;
  ended: Promise<void>;
}

export class StoreThread {
  readonly #file: string;
  /** Called with each failure of the thread's work, also of work without a waiting caller. */
  readonly #onFailure: (error: unknown) => void;
  #running: Running | undefined;
  #idle: NodeJS.Timeout | undefined;
  #next = 1;
  #isClosed = false;

  constructor(file: string, onFailure: (error: unknown) => void) {
    this.#file = file;
    this.#onFailure = onFailure;
  }

  /** Sends a request. Throws the work's error, `turn_aborted` when the store is closed, `internal` when the thread ended. */
  async ask<Name extends keyof Tasks>(task: Name, ask: Tasks[Name]["ask"]): Promise<Tasks[Name]["answer"]> {
    if (this.#isClosed) throw new PagurusError("turn_aborted", "The lossless store was closed.");
    clearTimeout(this.#idle);
    this.#running ??= this.#start();
    return this.#send(this.#running, task, ask);
  }

  /** Runs a write on the main thread as soon as the thread is between two transactions. */
  inTurn<T>(write: () => T): T {
    return this.#running ? this.#running.gate.hurry(write) : write();
  }

  /** The main thread begins a task, for which merges wait. */
  noteUse(): void {
    this.#running?.gate.noteUse();
  }

  /** Ends the thread between two transactions; pending requests are rejected with `turn_aborted`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#retire();
  }

  async #retire(): Promise<void> {
    clearTimeout(this.#idle);
    const running = this.#running;
    if (!running) return;
    this.#running = undefined;
    running.gate.stop();
    await this.#send(running, "end", null).catch(() => undefined);
    await running.ended;
  }

  #send<Name extends keyof Tasks>(
    { worker, waiting }: Running,
    task: Name,
    ask: Tasks[Name]["ask"],
  ): Promise<Tasks[Name]["answer"]> {
    const id = this.#next++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    // Keeps no reference to sent data: it is copied, and there are megabytes of it.
    waiting.set(id, { resolve, reject });
    worker.ref();
    worker.postMessage({ id, task, ask } as Request);
    return promise as Promise<Tasks[Name]["answer"]>;
  }

  #start(): Running {
    const gate = new Gate();
    // Works for sources and for built files: the worker has the same file extension as this file.
    const url = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(url, {
      workerData: { file: this.#file, gate: gate.buffer } satisfies Start,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const running: Running = { worker, gate, waiting: new Map(), ended };
    worker.on("message", (reply: Reply) => this.#answer(running, reply));
    worker.once("error", (error) => this.#ended(running, error));
    worker.once("exit", () => {
      this.#ended(running, new Error("the thread ended"));
      resolve();
    });
    return running;
  }

  #answer(running: Running, { id, answer, error }: Reply): void {
    const asked = running.waiting.get(id);
    running.waiting.delete(id);
    if (error) {
      const failure = errorOf(error);
      this.#onFailure(failure);
      asked?.reject(failure);
    } else asked?.resolve(answer);
    if (running.waiting.size > 0 || running !== this.#running) return;
    running.worker.unref();
    this.#retireWhenIdle(running);
  }

  #retireWhenIdle(running: Running): void {
    clearTimeout(this.#idle);
    const retire = (): void => {
      if (running !== this.#running) return;
      if (running.gate.isMerging) this.#retireWhenIdle(running);
      else void this.#retire();
    };
    this.#idle = setTimeout(retire, IDLE_MS).unref();
  }

  #ended(running: Running, cause: unknown): void {
    if (this.#running === running) this.#running = undefined;
    // Releases what the thread held when it failed.
    running.gate.release();
    const error = new PagurusError(
      "internal",
      "The thread of the lossless store ended before its work was done; try again.",
      { cause },
    );
    for (const { reject } of running.waiting.values()) reject(error);
    running.waiting.clear();
  }
}

function errorOf({ code, message, errcode, damage }: NonNullable<Reply["error"]>): Error {
  if (damage) return new StoreDamage(message, damage.part);
  if (errcode !== undefined) return Object.assign(new Error(message), { errcode });
  const known: ErrorCode = Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : "internal";
  return new PagurusError(known, message);
}
