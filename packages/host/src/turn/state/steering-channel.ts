import { PagurusError } from "@pagurus/contract/errors";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { AdditionalContext } from "@pagurus/contract/fragment";
import type { TurnRun } from "@pagurus/contract/host/run";
import { contextEntries } from "../fragments/merge.ts";

/** Input that joins a running turn. */
export interface Steering {
  text: string;
  additionalContext: AdditionalContext | null;
}

/** The caller as the stages of a turn see it: event sink, steering, abort signal. */
export interface TurnPort {
  emit(event: TurnEvent): void;
  /** Takes the queued steering. */
  takeSteering(): Steering[];
  readonly signal: AbortSignal;
}

/**
 * Connects a running turn with the caller who iterates over its events. Events queue up without bound, so a slow reader never slows the
 * turn; a reader who leaves early aborts it. A run without a reader runs to its end.
 */
export class TurnChannel implements TurnPort {
  /** Events that were not read yet. */
  #events: TurnEvent[] = [];
  readonly #steering: Steering[] = [];
  readonly #controller = new AbortController();
  readonly #givenUp = Promise.withResolvers<void>();
  #wake: (() => void) | undefined;
  #steered: (() => void) | undefined;
  #read = false;
  #left = false;
  /** The turn's last event has been emitted. */
  #final = false;
  #ended = false;
  #open = true;
  /** Compactions of the turn so far. */
  compactions = 0;

  /** Gets each event when it happens, whether or not it is read. */
  observe: ((event: TurnEvent) => void) | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Drops events after `turn.completed` or `turn.failed`: they come from a runtime or tool that ended too late. */
  emit(event: TurnEvent): void {
    if (this.#final || this.#ended) return;
    if (event.type === "turn.completed" || event.type === "turn.failed") {
      this.#final = true;
      this.#open = false;
    }
    if (event.type === "compaction.completed") this.compactions += 1;
    if (!this.#left) this.#events.push(event);
    this.observe?.(event);
    this.#wake?.();
  }

  /** As `TurnRun.steer`. */
  steer(text: string, additionalContext?: AdditionalContext | null): boolean {
    const steering = checkedSteering(text, additionalContext);
    if (this.#open) this.#steering.push(steering);
    this.#steered?.();
    return this.#open;
  }

  /** As `TurnRun.takeBack`. */
  takeBack(text: string): boolean {
    const at = this.#steering.findLastIndex((steering) => steering.text === text);
    if (at !== -1) this.#steering.splice(at, 1);
    return at !== -1;
  }

  abort(): void {
    this.#controller.abort();
  }

  hasSteering(): boolean {
    return this.#steering.length > 0;
  }

  /** Resolves when steering is queued, or the turn takes no more input. */
  steeringArrives(): Promise<void> {
    if (this.hasSteering() || !this.#open) return Promise.resolve();
    return new Promise((resolve) => {
      this.#steered = resolve;
    });
  }

  takeSteering(): Steering[] {
    return this.#steering.splice(0);
  }

  /** Closes the turn's input; false when some is still queued. */
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

  /** Ends the events while the work still runs: it did not react to its signal. */
  giveUp(event: TurnEvent): void {
    this.emit(event);
    this.end();
    this.#givenUp.resolve();
  }

  /**
   * The caller's side. `work` starts at once; its last event ends the turn. The events can be iterated over once; a second iterator throws
   * `usage_invalid`.
   */
  run(work: () => Promise<void>): TurnRun {
    const finished = Promise.resolve()
      .then(work)
      .finally(() => this.end());
    finished.catch(() => undefined);
    return {
      steer: (text, options) => this.steer(text, options?.additionalContext),
      takeBack: (text) => this.takeBack(text),
      abort: () => this.abort(),
      [Symbol.asyncIterator]: () => {
        if (this.#read) {
          throw new PagurusError(
            "usage_invalid",
            "The events of a run can be read once, and this run has a reader; keep the events where they are needed twice.",
          );
        }
        this.#read = true;
        return this.#iterate(Promise.race([finished, this.#givenUp.promise]));
      },
    };
  }

  async *#iterate(finished: Promise<void>): AsyncGenerator<TurnEvent, undefined, undefined> {
    try {
      for (;;) {
        // Whole batches: shifting single events off a long queue costs its length each time.
        const batch = this.#events;
        this.#events = [];
        for (const event of batch) yield event;
        if (this.#events.length > 0) continue;
        if (this.#ended) break;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
      await finished;
    } finally {
      this.#left = true;
      this.#events = [];
      if (!this.#final && !this.#ended) this.#controller.abort();
      await finished.catch(() => undefined);
    }
    return undefined;
  }
}

/** Throws `usage_invalid`. */
function checkedSteering(text: string, context: AdditionalContext | null | undefined): Steering {
  if (text.trim() === "")
    throw new PagurusError("usage_invalid", "The input to the running turn is empty; give a text.");
  const entries = contextEntries(context);
  // A copy: later changes by the caller do not affect this input.
  return { text, additionalContext: entries.length === 0 ? null : Object.fromEntries(entries) };
}
