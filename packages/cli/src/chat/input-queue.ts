/** Inputs that wait: for the chat, or for the running turn to take them. */

export class InputQueue {
  readonly #changed: (steering: readonly string[], queued: readonly string[]) => void;
  readonly #queued: string[] = [];
  /** Handed to the running turn, which has not taken them yet. */
  readonly #steering: string[] = [];
  #hasEnded = false;
  #wake: (() => void) | undefined;

  /** `changed`: called with what waits. */
  constructor(changed: (steering: readonly string[], queued: readonly string[]) => void) {
    this.#changed = changed;
  }

  #show(): void {
    this.#changed(this.#steering, this.#queued);
  }

  push(text: string): void {
    this.#queued.push(text);
    this.#show();
    this.#wake?.();
  }

  /** Puts an input in front of all others. */
  pushFirst(text: string): void {
    this.#queued.unshift(text);
  }

  /** An input is there for the time after the turn. */
  get isWaiting(): boolean {
    return this.#queued.length > 0;
  }

  /** The running turn will take this text. */
  steer(text: string): void {
    this.#steering.push(text);
    this.#show();
  }

  /** The turn took its oldest text. */
  joined(): string | undefined {
    const text = this.#steering.shift();
    this.#show();
    return text;
  }

  /** Texts that the ended turn did not take. */
  left(): string[] {
    const texts = this.#steering.splice(0);
    if (texts.length > 0) this.#show();
    return texts;
  }

  /** The newest input that waits, no longer waiting. `fromTurn`: takes a text from the running turn; false when that has it already. */
  takeBack(fromTurn: (text: string) => boolean): string | undefined {
    let text = this.#queued.pop();
    const pending = this.#steering.at(-1);
    if (text === undefined && pending !== undefined && fromTurn(pending)) text = this.#steering.pop();
    if (text !== undefined) this.#show();
    return text;
  }

  /** No further input comes. */
  end(): void {
    this.#hasEnded = true;
    this.#wake?.();
  }

  /** Ends the wait for an input. */
  wake(): void {
    this.#wake?.();
  }

  /** The next input; undefined at the end and after `wake`. `ready`: called before a wait. */
  async next(ready: () => void): Promise<string | undefined> {
    if (this.#queued.length === 0 && !this.#hasEnded) {
      ready();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    const text = this.#queued.shift();
    if (text !== undefined) this.#show();
    return text;
  }
}
