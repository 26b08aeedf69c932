/** What a host has under way, so that closing it refuses new work, stops the old and never waits for ever. */
import { PagurusError } from "../contract/errors.ts";
import type { Logger } from "../platform/log.ts";

export interface WorkItem {
  /** For the log and for errors: `turn`, `compaction`. */
  kind: string;
  /** Asks it to end. */
  abort(): void;
  /** Resolves when it has ended; never rejects. */
  done: Promise<void>;
  /** It did not end in time: whoever waits for it is told this, and the host goes on without it. */
  giveUp(error: PagurusError): void;
}

export class OpenWork {
  readonly #items = new Set<WorkItem>();
  readonly #graceMs: number;
  readonly #logger: Logger;
  #closing = false;

  constructor(options: { graceMs: number; logger: Logger }) {
    this.#graceMs = options.graceMs;
    this.#logger = options.logger;
  }

  /** Throws `usage_invalid` from the moment that closing begins. */
  assertOpen(): void {
    if (this.#closing) throw closedError();
  }

  /** Keeps an item until it is done. */
  add(item: WorkItem): void {
    this.#items.add(item);
    void item.done.then(() => this.#items.delete(item));
  }

  /** Runs one operation; its signal fires when the host closes. Throws `usage_invalid` on a closed host. */
  async track<T>(kind: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.assertOpen();
    const controller = new AbortController();
    const givenUp = Promise.withResolvers<never>();
    const running = Promise.resolve().then(() => work(controller.signal));
    this.add({
      kind,
      abort: () => controller.abort(),
      done: running.then(
        () => undefined,
        () => undefined,
      ),
      giveUp: givenUp.reject,
    });
    return Promise.race([running, givenUp.promise]);
  }

  /** Stops everything and waits for it, for as long as the grace lasts. */
  async stop(): Promise<void> {
    this.#closing = true;
    for (const { abort } of this.#items) abort();
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#graceMs);
    });
    await Promise.race([Promise.all([...this.#items].map(({ done }) => done)), grace]);
    clearTimeout(timer);
    for (const { kind, giveUp } of this.#items) {
      this.#logger.warn("work not ended at closing", { kind });
      giveUp(
        new PagurusError(
          "turn_aborted",
          `The ${kind} did not end within ${this.#graceMs / 1000} s of closing Pagurus; it was given up.`,
        ),
      );
    }
    this.#items.clear();
  }
}

export function closedError(): PagurusError {
  return new PagurusError("usage_invalid", "This Pagurus is closed; make a new one with createPagurus().");
}
