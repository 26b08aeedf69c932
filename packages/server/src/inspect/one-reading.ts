/**
 * Readings of what was added to a file: one at a time. What was added while one ran may not be in it, so a caller that came meanwhile
 * waits for the next one, which all of them share.
 */
export class OneReading {
  readonly #read: () => Promise<void>;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(read: () => Promise<void>) {
    this.#read = read;
  }

  /** Resolves when all that was there at the call has been read. Throws what the reading throws. */
  fresh(): Promise<void> {
    if (!this.#running) return this.#run();
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.#run();
      });
    return this.#next;
  }

  #run(): Promise<void> {
    const running = this.#read().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
