/** Runs work one after another for each key; work of other keys does not wait. */
export class InOrder {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Resolves and rejects with the work itself; a failure does not stop what follows. */
  async run(key: string, work: () => Promise<void>): Promise<void> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const own = before.then(work);
    const settled = own.catch(() => undefined);
    this.#last.set(key, settled);
    await own.finally(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    });
  }
}
