import { PagurusError } from "../contract/errors.ts";
import type { TurnEvent } from "../contract/events.ts";
import type { AdditionalContext } from "../contract/fragment.ts";
import type { TurnRun } from "../contract/run.ts";
import { contextEntries } from "./fragments/merge.ts";

/** Input that joins a running turn. */
export interface Steering {
  text: string;
  additionalContext: AdditionalContext | null;
}

/** What the rooms of a turn see of the caller: where events go, what steers, what stops. */
export interface TurnPort {
  emit(event: TurnEvent): void;
  /** Takes the steering that has arrived. */
  takeSteering(): Steering[];
  readonly signal: AbortSignal;
}

/**
 * Connects a running turn with the caller who iterates over its events. Events queue up without bound, so a slow
 * reader never slows the turn; a reader who leaves early aborts it. A run without a reader goes to its end.
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

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** What comes after `turn.completed` or `turn.failed` is dropped: a runtime or tool that ended too late. */
  emit(event: TurnEvent): void {
    if (this.#final || this.#ended) return;
    if (event.type === "turn.completed" || event.type === "turn.failed") {
      this.#final = true;
      this.#open = false;
    }
    if (!this.#left) this.#events.push(event);
    this.#wake?.();
  }

  /** As `TurnRun.steer`. */
  steer(text: string, additionalContext?: AdditionalContext | null): boolean {
    const steering = checkedSteering(text, additionalContext);
    if (this.#open) this.#steering.push(steering);
    this.#steered?.();
    return this.#open;
  }

  abort(): void {
    this.#controller.abort();
  }

  hasSteering(): boolean {
    return this.#steering.length > 0;
  }

  /** Resolves when steering is there, or no input joins the turn any more. */
  steeringArrives(): Promise<void> {
    if (this.hasSteering() || !this.#open) return Promise.resolve();
    return new Promise((resolve) => {
      this.#steered = resolve;
    });
  }

  takeSteering(): Steering[] {
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

  /** Ends the events although the work goes on: it does not answer to its signal. */
  giveUp(event: TurnEvent): void {
    this.emit(event);
    this.end();
    this.#givenUp.resolve();
  }

  /**
   * The caller's side. `work` starts at once; its last event is the turn's end. Its events can be iterated over
   * once; a second iterator throws `usage_invalid`.
   */
  run(work: () => Promise<void>): TurnRun {
    const finished = Promise.resolve()
      .then(work)
      .finally(() => this.end());
    finished.catch(() => undefined);
    return {
      steer: (text, options) => this.steer(text, options?.additionalContext),
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
        // Whole batches: taking single events off the front of a long queue costs its length each time.
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
function checkedSteering(text: string, given: AdditionalContext | null | undefined): Steering {
  if (text.trim() === "")
    throw new PagurusError("usage_invalid", "The input to the running turn is empty; give a text.");
  const entries = contextEntries(given);
  // A copy: what the caller changes afterwards is none of this input.
  return { text, additionalContext: entries.length === 0 ? null : Object.fromEntries(entries) };
}
