/** What a host has under way, so that closing it refuses new work, stops the old and never waits for ever. */
import { PagurusError, toPagurusError } from "../contract/errors.ts";
import type { Logger } from "../platform/log.ts";

export interface WorkItem {
  /** For the log and for errors: `turn`, `compaction`. */
  kind: string;
  /** Asks it to end. */
  abort(): void;
  /** Resolves when it has ended; never rejects. */
  done: Promise<void>;
  /** Runs behind what a caller waits for; closing lets it go on for a while before it is stopped. */
  behind?: boolean;
  /** It did not end in time: whoever waits for it is told this, and the host goes on without it. */
  giveUp(error: PagurusError): void;
}

/** Resolves when the items have ended, or after `ms`. */
async function within(ms: number, items: readonly WorkItem[]): Promise<void> {
  if (items.length === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([Promise.all(items.map(({ done }) => done)), over]);
  clearTimeout(timer);
}

export class OpenWork {
  readonly #items = new Set<WorkItem>();
  readonly #graceMs: number;
  readonly #drainMs: number;
  readonly #logger: Logger;
  #closing = false;

  /** `drainMs`: how long closing lets work behind a turn go on before it is stopped. */
  constructor(options: { graceMs: number; drainMs: number; logger: Logger }) {
    this.#graceMs = options.graceMs;
    this.#drainMs = options.drainMs;
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

  /** Runs one operation that nobody waits for; its failure is logged. Not started while the host closes. */
  behind(kind: string, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#closing) return;
    const controller = new AbortController();
    const done = Promise.resolve()
      .then(() => work(controller.signal))
      .catch((error: unknown) => {
        this.#logger.warn("work behind a turn failed", { kind, code: toPagurusError(error).code });
      });
    this.add({ kind, behind: true, abort: () => controller.abort(), done, giveUp: () => undefined });
  }

  /** Resolves when all that runs now has ended. */
  async settled(): Promise<void> {
    await Promise.all([...this.#items].map(({ done }) => done));
  }

  /** Stops everything and waits for it, for as long as the graces last. */
  async stop(): Promise<void> {
    this.#closing = true;
    const items = [...this.#items];
    for (const { behind, abort } of items) if (behind !== true) abort();
    await within(
      this.#graceMs,
      items.filter(({ behind }) => behind !== true),
    );
    const behind = [...this.#items].filter((item) => item.behind === true);
    await within(this.#drainMs, behind);
    for (const { abort } of behind) abort();
    await within(this.#graceMs, behind);
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
