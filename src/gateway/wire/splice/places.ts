/** A request's own elements as pieces in order, and where each piece stands. */
import type { WireRequest } from "../dialect/dialect.ts";
import { atomsOf, type Atom } from "./atoms.ts";

export interface Placed extends Atom {
  item: number;
}

/** Elements behind the fixed prefix; settings have no pieces. */
export class Places {
  readonly placed: readonly Placed[];
  /** For each element its first piece's place; behind them all the number of pieces. */
  readonly #firsts: number[] = [];
  readonly #byKey = new Map<string, number[]>();
  readonly #request: WireRequest;

  constructor(request: WireRequest) {
    this.#request = request;
    const placed: Placed[] = [];
    for (const [item, { kind, messages }] of request.items.entries()) {
      this.#firsts.push(placed.length);
      if (item < request.prefixCount || kind === "setting") continue;
      for (const message of messages) for (const atom of atomsOf(message)) placed.push({ ...atom, item });
    }
    this.#firsts.push(placed.length);
    this.placed = placed;
    for (const [place, { key }] of placed.entries()) {
      const places = this.#byKey.get(key);
      if (places) places.push(place);
      else this.#byKey.set(key, [place]);
    }
  }

  /** Ascending. */
  of(key: string): readonly number[] {
    return this.#byKey.get(key) ?? [];
  }

  /** Of an element's first piece; of one without any that of the next element's. */
  from(item: number): number {
    return this.#firsts[item] ?? this.placed.length;
  }

  /** Whether an element says nothing that a message of ours could be compared with, such as encrypted reasoning. */
  isMute(item: number): boolean {
    const { items, prefixCount } = this.#request;
    return item >= prefixCount && items[item]?.kind === "said" && this.from(item) === this.from(item + 1);
  }

  /** The element's words, calls and results are part of what was said. */
  isSaid(item: number): boolean {
    return this.from(item) < this.from(item + 1);
  }
}
