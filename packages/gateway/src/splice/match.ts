/** Matches the messages of the engine's context with the request's own elements. */
import { isMissingResult } from "@pagurus/core/compaction/tool-pairing";
import type { AgentMessage } from "@pagurus/contract/message";
import type { WireRequest } from "../dialect/wire-dialect.ts";
import type { Governed } from "../governor/governor.ts";
import { atomsOf, callKey, sameValue, type Atom } from "./atoms.ts";
import { asRequested, callsIn, callGroups, renamed } from "./call-ids.ts";
import { Places } from "./splice-places.ts";

export interface Matches {
  /** The engine's messages; consecutive results are in the order of the request. */
  context: readonly AgentMessage[];
  /** For each message the matching elements in order; undefined if there are none. */
  items: readonly (readonly number[] | undefined)[];
  /** For each element the first message that it matches; undefined if it matches none. */
  messages: readonly (number | undefined)[];
  /** Start of the live turn: as the request states, or earlier if the context's live turn extends before it. */
  liveFrom: number;
  places: Places;
  /** The message has text, calls or a result. */
  hasWords(index: number): boolean;
  isOriginal(index: number): boolean;
}

/** Ranges of messages and of places; ends are exclusive. */
interface Range {
  messages: readonly [number, number];
  places: readonly [number, number];
}

class Matcher {
  readonly #request: WireRequest;
  readonly #places: Places;
  readonly #governed: Governed;
  /** Messages with the engine's call ids. */
  readonly #engineMessages: AgentMessage[];
  /** Messages with the request's call ids. */
  readonly #messages: AgentMessage[];
  readonly #atoms: readonly (readonly Atom[])[];
  /** First place of each message. */
  readonly #found: (number | undefined)[];
  readonly #originals: (boolean | undefined)[] = [];
  /** Number of messages that end with an atom, by key. */
  readonly #ends = new Map<string, number>();

  constructor(request: WireRequest, governed: Governed) {
    this.#request = request;
    this.#governed = governed;
    this.#places = new Places(request);
    const isRequested = (id: string): boolean => this.#places.of(callKey(id)).length > 0;
    this.#engineMessages = [...governed.context.messages];
    this.#messages = [...asRequested(this.#engineMessages, isRequested)];
    this.#orderResults();
    this.#atoms = this.#messages.map(atomsOf);
    this.#found = this.#messages.map(() => undefined);
    for (const atoms of this.#atoms) {
      const key = atoms.at(-1)?.key;
      if (key !== undefined) this.#ends.set(key, (this.#ends.get(key) ?? 0) + 1);
    }
  }

  /** Matches the live turn first, with its own elements: the same text may occur earlier. */
  run(): Matches {
    const { historyCount } = this.#governed.context;
    const end = this.#places.placed.length;
    const live = this.#places.from(this.#request.liveFrom);
    this.#align({ messages: [historyCount, this.#messages.length], places: [live, end] });
    const liveFrom = this.#extendLive(live);
    const first = this.#found.slice(historyCount).find((place) => place !== undefined);
    const before = first ?? this.#places.from(liveFrom);
    this.#align({ messages: [0, historyCount], places: [0, before] });
    this.#dropHalves();
    return this.#matches(liveFrom);
  }

  /** Parallel calls ended in an order of their own; a harness may list their results in another one. */
  #orderResults(): void {
    let before = this.#places.placed.length;
    for (const { from, to } of callGroups(this.#messages).reverse()) {
      const results = this.#messages.slice(from + 1, to).map((result, offset) => {
        const at = this.#resultPlace(result, before);
        return { result, engineResult: this.#engineMessages[from + 1 + offset] ?? result, at };
      });
      if (results.length === 0 || results.some(({ at }) => at === undefined)) continue;
      results.sort((one, other) => (one.at ?? 0) - (other.at ?? 0));
      before = results[0]?.at ?? before;
      this.#messages.splice(from + 1, results.length, ...results.map(({ result }) => result));
      this.#engineMessages.splice(
        from + 1,
        results.length,
        ...results.map(({ engineResult }) => engineResult),
      );
    }
  }

  #resultPlace(result: AgentMessage, before: number): number | undefined {
    const [atom] = atomsOf(result);
    if (!atom) return undefined;
    const places = this.#places.of(atom.key);
    const isIt = (at: number): boolean => {
      const placed = this.#places.placed[at];
      return at < before && (places.length === 1 || (placed !== undefined && sameValue(placed, atom)));
    };
    return places.findLast(isIt);
  }

  /** Matches a range: atoms that are unique on both sides are anchors for the rest. */
  #align({ messages: [from, to], places: [low, high] }: Range): void {
    let next: Range = { messages: [from, to], places: [low, high] };
    for (const anchor of this.#anchors({ messages: [from, to], places: [low, high] }).reverse()) {
      const after = anchor.place + (this.#atoms[anchor.index]?.length ?? 0);
      this.#fill({ messages: [anchor.index + 1, next.messages[1]], places: [after, next.places[1]] });
      this.#found[anchor.index] = anchor.place;
      next = { messages: [from, anchor.index], places: [low, anchor.place] };
    }
    this.#fill(next);
  }

  /** The longest list of messages in ascending place, of those that have a single place. */
  #anchors({ messages: [from, to], places: [low, high] }: Range): { index: number; place: number }[] {
    interface Link {
      index: number;
      place: number;
      before: Link | undefined;
    }
    /** For each length the chain that ends at the lowest place. */
    const chains: Link[] = [];
    for (let index = from; index < to; index++) {
      const place = this.#onlyPlace(index);
      if (place === undefined || place < low || place >= high) continue;
      let length = 0;
      let most = chains.length;
      while (length < most) {
        const middle = (length + most) >> 1;
        if ((chains[middle]?.place ?? 0) < place) length = middle + 1;
        else most = middle;
      }
      chains[length] = { index, place, before: chains[length - 1] };
    }
    const anchors: { index: number; place: number }[] = [];
    for (let link = chains.at(-1); link; link = link.before) anchors.unshift(link);
    return anchors;
  }

  #onlyPlace(index: number): number | undefined {
    const atoms = this.#atoms[index] ?? [];
    const key = atoms.at(-1)?.key ?? "";
    const places = this.#places.of(key);
    if (places.length !== 1 || this.#ends.get(key) !== 1) return undefined;
    const place = (places[0] ?? 0) - atoms.length + 1;
    return place >= 0 && this.#agree(index, place) ? place : undefined;
  }

  /** Matches from the newest message back, each at the nearest place before the next message. */
  #fill({ messages: [from, to], places: [low, high] }: Range): void {
    let before = high;
    for (let index = to - 1; index >= from && before > low; index--) {
      const atoms = this.#atoms[index] ?? [];
      const places = this.#places.of(atoms.at(-1)?.key ?? "");
      for (let at = below(places, before) - 1; at >= 0; at--) {
        const place = (places[at] ?? 0) - atoms.length + 1;
        if (place < low) break;
        if (!this.#agree(index, place)) continue;
        this.#found[index] = place;
        before = place;
        break;
      }
    }
  }

  #agree(index: number, from: number): boolean {
    return (this.#atoms[index] ?? []).every((atom, offset) => {
      const placed = this.#places.placed[from + offset];
      if (placed?.key !== atom.key) return false;
      if (sameValue(placed, atom)) return true;
      const places = this.#places.of(atom.key);
      if (places.at(-1) === from + offset && this.#isLate(index)) return true;
      // For a reused id only the content shows which one it is.
      return places.length === 1 && this.#isOriginal(index);
    });
  }

  /** Whether the message replaces a result that only the harness has yet. */
  #isLate(index: number): boolean {
    const message = this.#messages[index];
    if (message?.role !== "toolResult" || !isMissingResult(message)) return false;
    return this.#governed.isOpen?.(message.toolCallId) === true;
  }

  #isOriginal(index: number): boolean {
    const message = this.#messages[index];
    return (this.#originals[index] ??= message !== undefined && this.#governed.isOriginal(message));
  }

  /** Extends the live turn if the context's continues directly before the place where the request's begins: its user has steered. */
  #extendLive(live: number): number {
    const { historyCount } = this.#governed.context;
    const known = this.#found.findIndex((place, index) => index >= historyCount && place !== undefined);
    let index = known < 0 ? this.#messages.length : known;
    let before = (known < 0 ? undefined : this.#found[known]) ?? this.#places.placed.length;
    if (before !== live) return this.#request.liveFrom;
    for (index -= 1; index >= historyCount; index--) {
      const place = before - (this.#atoms[index]?.length ?? 0);
      if (place === before) continue;
      if (place < 0 || !this.#agree(index, place)) break;
      this.#found[index] = place;
      before = place;
    }
    const first = before < live ? this.#places.placed[before]?.item : undefined;
    return Math.min(first ?? this.#request.liveFrom, this.#request.liveFrom);
  }

  /**
   * An element is kept as a whole or not at all: messages that share one with unmatched content are encoded again. So are the
   * results of an encoded call, since the call has to come before them.
   */
  #dropHalves(): void {
    const { placed } = this.#places;
    const owners: (number | undefined)[] = placed.map(() => undefined);
    for (const [index, place] of this.#found.entries())
      for (let offset = 0; place !== undefined && offset < (this.#atoms[index]?.length ?? 0); offset++)
        owners[place + offset] = index;
    const broken = new Set(placed.flatMap(({ item }, place) => (this.#isHalf(place, owners) ? [item] : [])));
    const drop = (index: number): void => {
      const place = this.#found[index];
      if (place === undefined) return;
      this.#found[index] = undefined;
      for (let offset = 0; offset < (this.#atoms[index]?.length ?? 0); offset++) {
        owners[place + offset] = undefined;
        broken.add(placed[place + offset]?.item ?? 0);
      }
    };
    const dropBroken = (): void => {
      // Iteration over a set includes elements that are added meanwhile.
      for (const item of broken)
        for (let place = this.#places.from(item); place < this.#places.from(item + 1); place++) {
          const owner = owners[place];
          if (owner !== undefined) drop(owner);
        }
    };
    dropBroken();
    for (const { from, to } of callGroups(this.#messages)) {
      if (this.#found[from] !== undefined) continue;
      for (let index = from + 1; index < to; index++) drop(index);
    }
    dropBroken();
  }

  /** An atom is a half if no message owns it, or if another message comes between it and the previous atom of its element. */
  #isHalf(place: number, owners: readonly (number | undefined)[]): boolean {
    const owner = owners[place];
    if (owner === undefined) return true;
    const before = owners[place - 1];
    if (before === undefined || this.#places.placed[place - 1]?.item !== this.#places.placed[place]?.item)
      return false;
    for (let index = before + 1; index < owner; index++)
      if (this.#messages[index]?.role !== "toolResult" && this.#atoms[index]?.length !== 0) return true;
    return false;
  }

  #matches(liveFrom: number): Matches {
    const messages: (number | undefined)[] = this.#request.items.map(() => undefined);
    const items = this.#found.map((place, index) => {
      if (place === undefined) return undefined;
      const all = this.#places.placed.slice(place, place + (this.#atoms[index]?.length ?? 0));
      const own = [...new Set(all.map(({ item }) => item))];
      for (const item of own) messages[item] ??= index;
      return own;
    });
    return {
      context: this.#named(),
      items,
      messages,
      liveFrom,
      places: this.#places,
      hasWords: (index) => (this.#atoms[index]?.length ?? 0) > 0,
      isOriginal: (index) => this.#isOriginal(index),
    };
  }

  /** Renames calls that are encoded again, so that their ids differ from those of kept calls. */
  #named(): AgentMessage[] {
    const messages = [...this.#messages];
    const groups = callGroups(messages);
    const kept = new Set(
      groups.flatMap(({ from }) => (this.#found[from] === undefined ? [] : callsIn(messages[from]))),
    );
    for (const { from, to } of groups) {
      if (this.#found[from] !== undefined) continue;
      for (let index = from; index < to; index++) {
        const own = this.#engineMessages[index];
        if (own) messages[index] = renamed(own, (id) => (kept.has(id) ? freeId(id, kept) : undefined));
      }
    }
    return messages;
  }
}

function freeId(id: string, used: ReadonlySet<string>): string {
  let free = `${id}_0`;
  while (used.has(free)) free += "_0";
  return free;
}

/** Number of values below a bound in an ascending list. */
function below(numbers: readonly number[], bound: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function matchMessages(request: WireRequest, governed: Governed): Matches {
  return new Matcher(request, governed).run();
}
