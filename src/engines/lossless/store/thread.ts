/** The main thread's side of `worker.ts`: started when it is needed, ended when nothing is asked for a while. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { ERROR_CODES, PagurusError, type ErrorCode } from "../../../contract/errors.ts";
import type { Reply, Request, Tasks } from "./worker.ts";

const IDLE_MS = 5_000;
/** What comes over is short-lived: a larger young generation only keeps more of it resident. */
const YOUNG_MB = 8;

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

export class StoreThread {
  readonly #file: string;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #next = 1;

  constructor(file: string) {
    this.#file = file;
  }

  /** Throws what the work throws, `internal` when the thread ended. */
  ask<Name extends keyof Tasks>(task: Name, ask: Tasks[Name]["ask"]): Promise<Tasks[Name]["answer"]> {
    const worker = this.#start();
    const request: Request = { id: this.#next++, task, ask };
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, {
        resolve: (answer) => resolve(answer as Tasks[Name]["answer"]),
        reject,
      });
      worker.ref();
      worker.postMessage(request);
    });
  }

  /** Ends the thread between two transactions; what was asked and not answered is rejected. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
    this.#rejectAll(new PagurusError("turn_aborted", "The lossless store was closed."));
  }

  #start(): Worker {
    clearTimeout(this.#idle);
    if (this.#worker) return this.#worker;
    // The sources run as they are, and built: the file beside this one has the same ending.
    const url = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(url, {
      workerData: { file: this.#file },
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    worker.on("message", (reply: Reply) => this.#answer(reply));
    worker.once("error", (error) => this.#ended(worker, error));
    worker.once("exit", () => this.#ended(worker, new Error("the thread ended")));
    this.#worker = worker;
    return worker;
  }

  #answer({ id, answer, error }: Reply): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) waiting?.reject(errorOf(error));
    else waiting?.resolve(answer);
    if (this.#waiting.size > 0) return;
    this.#worker?.unref();
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
  }

  #ended(worker: Worker, cause: unknown): void {
    if (this.#worker === worker) this.#worker = undefined;
    if (this.#waiting.size === 0) return;
    this.#rejectAll(
      new PagurusError(
        "internal",
        "The thread of the lossless store ended before its work was done; try again.",
        { cause },
      ),
    );
  }

  #rejectAll(error: PagurusError): void {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of all) reject(error);
  }
}

function errorOf({ code, message, errcode }: NonNullable<Reply["error"]>): Error {
  if (errcode !== undefined) return Object.assign(new Error(message), { errcode });
  const known: ErrorCode = Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : "internal";
  return new PagurusError(known, message);
}
