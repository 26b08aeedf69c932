/** Governor that passes all requests unchanged. */
import type { Governor } from "../governor/governor.ts";
import type { Upstream } from "../upstream/upstream.ts";

export class WrapObserver implements Governor {
  readonly passes = true;
  readonly #upstream: Upstream;

  constructor(upstream: Upstream) {
    this.#upstream = upstream;
  }

  main: Governor["main"] = () => Promise.resolve(undefined);

  compaction: Governor["compaction"] = () => Promise.resolve(undefined);

  upstream: Governor["upstream"] = () => this.#upstream;

  sent: Governor["sent"] = () => undefined;

  answered: Governor["answered"] = () => undefined;
}
