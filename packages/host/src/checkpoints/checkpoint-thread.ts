/** A thread that walks, reads and restores folders, so that the event loop is free; started with the first work, ended when it is idle. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { PagurusError, type ErrorCode } from "@pagurus/contract/errors";
import type { CheckpointResult, CheckpointWork } from "./checkpoint-work.ts";

export interface WorkRequest {
  id: number;
  home: string;
  /** Absolute, without links. */
  root: string;
  work: CheckpointWork;
}

export type WorkReply =
  | { id: number; result: CheckpointResult }
  | { id: number; error: { code: ErrorCode; message: string } }
  | { id: number; isLong: true };

interface Waiting {
  resolve(result: CheckpointResult): void;
  reject(error: Error): void;
  onLong(): void;
}

const IDLE_MS = 30_000;

export class CheckpointThread {
  readonly #home: string;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #next = 0;
  /** The running work that takes long: what waits for its turn does too. */
  #long: number | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(home: string) {
    this.#home = home;
  }

  /** In the order of the calls. `onLong`: called when it will take long. Throws as `CheckpointStore`, and `internal` when the thread fails. */
  run(root: string, work: CheckpointWork, onLong: () => void = () => undefined): Promise<CheckpointResult> {
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<CheckpointResult>();
    const id = this.#next++;
    this.#waiting.set(id, { resolve, reject, onLong });
    if (this.#long !== undefined) onLong();
    worker.postMessage({ id, home: this.#home, root, work } satisfies WorkRequest);
    return promise;
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    if (worker) this.#ended(worker, "it was closed");
    await worker?.terminate();
  }

  #start(): Worker {
    // Works for sources and for built files: the worker has the same file extension as this file.
    const worker = new Worker(new URL(`./checkpoint-worker${extname(import.meta.url)}`, import.meta.url));
    worker.unref();
    worker.on("message", (reply: WorkReply) => this.#take(reply));
    worker.once("error", (error) =>
      this.#ended(worker, error instanceof Error ? error.message : "it failed"),
    );
    worker.once("exit", () => this.#ended(worker, "it ended"));
    return worker;
  }

  #take(reply: WorkReply): void {
    if ("isLong" in reply) {
      this.#long = reply.id;
      for (const { onLong } of this.#waiting.values()) onLong();
      return;
    }
    if (this.#long === reply.id) this.#long = undefined;
    const asked = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ("error" in reply) asked?.reject(new PagurusError(reply.error.code, reply.error.message));
    else asked?.resolve(reply.result);
    if (this.#waiting.size === 0) this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
  }

  #ended(worker: Worker, why: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#long = undefined;
    const error = new PagurusError("internal", `The thread of the checkpoints has stopped: ${why}.`);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
