/**
 * Parses mails in a thread of its own, with limits in time and memory: bytes that strangers made neither block the host nor fill its memory.
 * The thread starts with the first mail and ends when none came for a while.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { mailFailure } from "./email-account.ts";
import type { ReadMail } from "./read-mail.ts";

/** Longest time for one mail, ms. */
const DEADLINE_MS = 10_000;
const IDLE_MS = 20_000;
/** Heap of the thread; the bytes of the mail are outside of it. */
const THREAD_LIMITS = { maxOldGenerationSizeMb: 160, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

export interface ParseReply {
  /** Absent for a mail that cannot be parsed within the limits. */
  mail: ReadMail | undefined;
}

export class MailParserThread {
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #parsing: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  readonly #deadlineMs: number;

  constructor(deadlineMs = DEADLINE_MS) {
    this.#deadlineMs = deadlineMs;
  }

  /** One mail after the other. Undefined for one that cannot be parsed within the limits. Throws `channel_failed` after `close`. */
  async parse(raw: Buffer): Promise<ReadMail | undefined> {
    const parsed = this.#parsing.then(() => this.#parse(raw));
    this.#parsing = parsed.catch(() => undefined);
    const mail = await parsed;
    // A mail whose thread was ended is not unreadable: it has to be received again.
    if (this.#isClosed) throw mailFailure("the connection was closed while a mail was parsed");
    return mail;
  }

  async #parse(raw: Buffer): Promise<ReadMail | undefined> {
    clearTimeout(this.#idle);
    if (this.#isClosed) return undefined;
    const worker = (this.#worker ??= this.#start());
    const { promise, resolve } = Promise.withResolvers<ReadMail | undefined>();
    const onMessage = ({ mail }: ParseReply): void => resolve(mail);
    const onEnd = (): void => resolve(undefined);
    const deadline = setTimeout(onEnd, this.#deadlineMs);
    worker.once("message", onMessage).once("exit", onEnd);
    worker.ref();
    // A copy of its own, which moves into the thread.
    const bytes = Uint8Array.from(raw);
    worker.postMessage(bytes, [bytes.buffer]);
    let isAnswered = false;
    try {
      const mail = await promise;
      isAnswered = mail !== undefined;
      return mail;
    } finally {
      clearTimeout(deadline);
      worker.off("message", onMessage).off("exit", onEnd);
      worker.unref();
      // After a mail that was too much for it the thread may be busy for long.
      if (isAnswered) this.#idle = setTimeout(() => void this.#retire(), IDLE_MS).unref();
      else await this.#retire();
    }
  }

  #start(): Worker {
    // Works for sources and for built files: the worker has the same file extension as this file.
    const url = new URL(`./mail-parser-worker${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(url, { resourceLimits: THREAD_LIMITS });
    // Such as that its heap is full; its end follows.
    worker.on("error", () => undefined);
    worker.once("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }

  /** Ends the thread for good. Never throws. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#retire();
  }

  /** Ends the thread; the next mail starts it again. */
  async #retire(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}
