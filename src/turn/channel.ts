import type { TurnEvent } from "../contract/events.ts";
import type { TurnRun } from "../contract/host.ts";

/** What the rooms of a turn see of the caller: where events go, what steers, what stops. */
export interface TurnPort {
  emit(event: TurnEvent): void;
  /** Takes the steering texts that have arrived. */
  takeSteering(): string[];
  readonly signal: AbortSignal;
}

/**
 * Connects a running turn with the caller who iterates over its events. Events queue up without bound, so a slow
 * reader never slows the turn; a reader who leaves early aborts it.
 */
export class TurnChannel implements TurnPort {
  readonly #events: TurnEvent[] = [];
  readonly #steering: string[] = [];
  readonly #controller = new AbortController();
  #wake: (() => void) | undefined;
  #ended = false;
  #open = true;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  emit(event: TurnEvent): void {
    this.#events.push(event);
    this.#wake?.();
  }

  takeSteering(): string[] {
    return this.#steering.splice(0);
  }

  /** No input joins the turn any more; false when some is still waiting. */
  closeInputs(): boolean {
    if (this.#steering.length > 0) return false;
    this.#open = false;
    return true;
  }

  end(): void {
    this.#ended = true;
    this.#open = false;
    this.#wake?.();
  }

  /** The caller's side. `work` starts at once; its last event is the turn's end. */
  run(work: () => Promise<void>): TurnRun {
    const finished = Promise.resolve()
      .then(work)
      .finally(() => this.end());
    finished.catch(() => undefined);
    return {
      steer: (text) => {
        if (this.#open) this.#steering.push(text);
        return this.#open;
      },
      abort: () => this.#controller.abort(),
      [Symbol.asyncIterator]: () => this.#iterate(finished),
    };
  }

  async *#iterate(finished: Promise<void>): AsyncGenerator<TurnEvent, undefined, undefined> {
    try {
      for (;;) {
        while (this.#events.length > 0) {
          const event = this.#events.shift();
          if (event) yield event;
        }
        if (this.#ended) break;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
      await finished;
    } finally {
      if (!this.#ended) this.#controller.abort();
      await finished.catch(() => undefined);
    }
    return undefined;
  }
}
