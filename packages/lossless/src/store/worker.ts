/** Thread of a store: handles requests one after the other; queued batches are written together. */
import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from "node:worker_threads";
import { toPagurusError } from "@pagurus/contract/errors";
import { StoreDamage } from "./damage.ts";
import { FEWEST_MERGED } from "./search/backlog.ts";
import { StoreWorker } from "./store-worker.ts";
import type { Ask, Reply, Request, Start } from "./tasks.ts";

/** Limit on the batches written together, and the minimum for a transaction while more are to come. */
const TOGETHER = 16;
const ENOUGH = 8;
/** Timeout of batches that wait for others. */
const WAIT_MS = 20;
/** Time without a request, and without a write or task of the main thread, after which the index is merged. */
const QUIET_MS = 250;
/** Delay between two merge steps. */
const WORKER_STEP_MS = 1;

function workerFailure(error: unknown): NonNullable<Reply["error"]> {
  const { errcode } = (error ?? {}) as { errcode?: unknown };
  const { code, message } = toPagurusError(error);
  if (error instanceof StoreDamage) return { code, message: error.message, damage: { part: error.part } };
  return { code, message, ...(typeof errcode === "number" ? { errcode } : {}) };
}

class Desk {
  readonly #port: MessagePort;
  readonly #worker: StoreWorker;
  #batches: Ask<"batch">[] = [];
  #writing: NodeJS.Timeout | undefined;
  #merging: NodeJS.Timeout | undefined;

  constructor(port: MessagePort, start: Start) {
    this.#port = port;
    this.#worker = new StoreWorker(start);
  }

  take(first: Request): void {
    clearTimeout(this.#merging);
    clearTimeout(this.#writing);
    let next: Request | undefined = first;
    for (; next?.task === "batch" && this.#batches.length < TOGETHER; next = this.#waiting())
      this.#batches.push(next);
    if (!next && this.#batches.length < ENOUGH && this.#batches.at(-1)?.ask.isLast === false) {
      this.#writing = setTimeout(() => {
        this.#writeAll();
        // More of an adoption may never come.
        if (this.#worker.isUnmerged) this.#mergeInPause();
      }, WAIT_MS);
      return;
    }
    this.#writeAll();
    if (next?.task === "batch") this.take(next);
    else if (next?.task === "end") this.#end(next);
    else if (next) this.#perform(next);
    if (next?.task !== "end" && this.#worker.isUnmerged) this.#mergeInPause();
  }

  #waiting(): Request | undefined {
    return (receiveMessageOnPort(this.#port) as { message: Request } | undefined)?.message;
  }

  #writeAll(): void {
    const batches = this.#batches;
    this.#batches = [];
    for (let at = 0; at < batches.length;) {
      const rest = batches.slice(at);
      at += this.#replied(rest, () => this.#worker.write(rest.map(({ ask }) => ask)));
    }
    // Ignored here: the next search indexes the texts and gets the error.
    if (batches.some(({ ask }) => ask.index === "now")) this.#replied([], () => [this.#worker.index(true)]);
  }

  #perform(request: Exclude<Request, Ask<"batch"> | Ask<"end">>): void {
    this.#replied([request], () => [this.#worker.perform(request)]);
  }

  #end(request: Request): void {
    this.#replied([request], () => [this.#worker.close()]);
    this.#port.close();
  }

  /** Replies with the work's results or error, and returns how many of the requests are answered. */
  #replied(requests: readonly Request[], work: () => unknown[]): number {
    let replies: Reply[];
    try {
      const answers = work();
      replies = requests.slice(0, answers.length).map(({ id }, index) => ({ id, answer: answers[index] }));
    } catch (error) {
      replies = requests.slice(0, 1).map(({ id }) => ({ id, error: workerFailure(error) }));
    }
    for (const reply of replies) this.#port.postMessage(reply);
    return replies.length;
  }

  #mergeInPause(): void {
    const { uses } = this.#worker;
    this.#worker.mergesSoon();
    this.#merging = setTimeout(() => this.#merge(uses), QUIET_MS);
  }

  /** Merges step by step: requests run in between, and a write or task of the main thread postpones it to the next pause. */
  #merge(uses: number): void {
    if (this.#worker.uses !== uses) {
      this.#mergeInPause();
      return;
    }
    let isMore = false;
    // Ignored here: the next user of the file gets the same error.
    this.#replied([], () => [(isMore = this.#worker.mergeSome(FEWEST_MERGED.unhurried))]);
    if (isMore) this.#merging = setTimeout(() => this.#merge(uses), WORKER_STEP_MS);
  }
}

if (parentPort) {
  const desk = new Desk(parentPort, workerData as Start);
  parentPort.on("message", (request: Request) => desk.take(request));
}
