/** Work in progress of a host: closing it refuses new work, stops the running work and never waits forever. */
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { Logger } from "@pagurus/core/platform/log";

export interface WorkItem {
  /** For the log and for errors: `turn`, `compaction`. */
  kind: string;
  /** Aborts it. */
  abort(): void;
  /** Resolves when it has ended; never rejects. */
  done: Promise<void>;
  /** Background work that no caller waits for; closing waits for it a while before it is stopped. */
  background?: boolean;
  /** Called when it did not end in time: its waiting caller gets this error, and the host closes without it. */
  giveUp(error: PagurusError): void;
}

/** Resolves when the items have ended, or after `ms`. */
async function endWithin(ms: number, items: readonly WorkItem[]): Promise<void> {
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

  /** `drainMs`: how long closing waits for background work before it is stopped. */
  constructor(options: { graceMs: number; drainMs: number; logger: Logger }) {
    this.#graceMs = options.graceMs;
    this.#drainMs = options.drainMs;
    this.#logger = options.logger;
  }

  /** Throws `usage_invalid` once closing has begun. */
  assertOpen(): void {
    if (this.#closing) throw closedError();
  }

  /** Registers an item until it is done. */
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

  /** Runs one background operation; its failure is logged. Not started while the host closes. */
  background(kind: string, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#closing) return;
    const controller = new AbortController();
    const done = Promise.resolve()
      .then(() => work(controller.signal))
      .catch((error: unknown) => {
        this.#logger.warn("background work failed", { kind, code: toPagurusError(error).code });
      });
    this.add({ kind, background: true, abort: () => controller.abort(), done, giveUp: () => undefined });
  }

  get isIdle(): boolean {
    return this.#items.size === 0;
  }

  /** Resolves when all current work has ended. */
  async settled(): Promise<void> {
    await Promise.all([...this.#items].map(({ done }) => done));
  }

  /** Stops everything and waits for it, up to the grace periods. */
  async stop(): Promise<void> {
    this.#closing = true;
    const items = [...this.#items];
    for (const { background, abort } of items) if (background !== true) abort();
    await endWithin(
      this.#graceMs,
      items.filter(({ background }) => background !== true),
    );
    const drained = [...this.#items].filter((item) => item.background === true);
    await endWithin(this.#drainMs, drained);
    for (const { abort } of drained) abort();
    await endWithin(this.#graceMs, drained);
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
