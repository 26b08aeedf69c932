/** A thread that parses long JSON texts, so that the event loop is free; started with the first one, ended when it is idle. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { PagurusError } from "@pagurus/contract/errors";

export interface ParseRequest {
  id: number;
  bytes: Uint8Array;
}

export type ParseReply = { id: number; value: unknown } | { id: number; problem: string };

const IDLE_MS = 30_000;
/** Enough for the largest body within the bounds; a text that needs more ends the thread, not the host. */
const HEAP_MB = 768;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class JsonThread {
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #next = 0;
  #idle: NodeJS.Timeout | undefined;

  /** Takes the bytes over. Throws `SyntaxError`, and `body_too_long` where the value needs too much memory. */
  async parse(bytes: Buffer): Promise<unknown> {
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const id = this.#next++;
    this.#waiting.set(id, { resolve, reject });
    const { buffer } = bytes;
    // A part of a larger buffer would take that along.
    const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength;
    worker.postMessage({ id, bytes } satisfies ParseRequest, isOwn ? [buffer] : []);
    return await promise;
  }

  async close(): Promise<void> {
    await this.#retire();
  }

  #start(): Worker {
    // Works for sources and for built files: the worker has the same file extension as this file.
    const worker = new Worker(new URL(`./json-worker${extname(import.meta.url)}`, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    worker.unref();
    worker.on("message", (reply: ParseReply) => this.#take(reply));
    worker.once("error", () => this.#ended(worker));
    worker.once("exit", () => this.#ended(worker));
    return worker;
  }

  #take(reply: ParseReply): void {
    const asked = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ("problem" in reply) asked?.reject(new SyntaxError(reply.problem));
    else asked?.resolve(reply.value);
    if (this.#waiting.size === 0) this.#idle = setTimeout(() => void this.#retire(), IDLE_MS).unref();
  }

  #ended(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const error = new PagurusError("body_too_long", "The body needs too much memory; send less at once.");
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  async #retire(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    if (worker) this.#ended(worker);
    await worker?.terminate();
  }
}
