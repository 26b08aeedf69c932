/** A request's own elements as a list of atoms, with the place of each. */
import type { WireRequest } from "../dialect/wire-dialect.ts";
import { atomsOf, type Atom } from "./atoms.ts";

export interface Placed extends Atom {
  item: number;
}

/** Elements after the fixed prefix; settings have no atoms. */
export class Places {
  readonly placed: readonly Placed[];
  /** For each element the place of its first atom; at the end the number of atoms. */
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

  /** Places of a key, ascending. */
  of(key: string): readonly number[] {
    return this.#byKey.get(key) ?? [];
  }

  /** Place of an element's first atom; without atoms, that of the next element. */
  from(item: number): number {
    return this.#firsts[item] ?? this.placed.length;
  }

  /** Whether a message element has no atoms to compare, such as encrypted reasoning. */
  isMute(item: number): boolean {
    const { items, prefixCount } = this.#request;
    return item >= prefixCount && items[item]?.kind === "message" && this.from(item) === this.from(item + 1);
  }

  /** Whether the element has text, calls or results of the conversation. */
  hasAtoms(item: number): boolean {
    return this.from(item) < this.from(item + 1);
  }
}
