/** Specific strings that the agent typed in each call, and where in the history they occurred before (M3). */
import { Blocks, textOfMessage } from "./blocks.ts";
import { outputOf, type ModelCall, type RecordedSession } from "./session.ts";

/** A string last seen more than so many blocks ago is far. */
const FAR_BLOCKS = 30;
const SPECIFIC = /[A-Za-z0-9_][A-Za-z0-9_./:-]{5,}/g;
const RUN = /[A-Za-z0-9_./:-]{6,}/g;
const GRAM = 6;

/** Distinct specific strings of a text: of six characters or more, with a digit, `_ . / :` or camel case. */
export function specificStrings(text: string): string[] {
  const found = new Set<string>();
  for (const [match] of text.matchAll(SPECIFIC)) {
    if (/[0-9_./:]/.test(match) || /[a-z][A-Z]/.test(match)) found.add(match);
  }
  return [...found];
}

interface WantedString {
  value: string;
  far: boolean;
  /** Ids of the blocks of the whole history that contain it. */
  holders: ReadonlySet<number>;
}

interface Placed {
  id: number;
  position: number;
}

/** A specific string is part of one unbroken run of its characters: only the runs are searched. */
class RunIndex {
  readonly #runs = new Map<string, Placed[]>();
  readonly #grams = new Map<string, string[]>();

  add(text: string, placed: Placed): void {
    const runs = new Set<string>();
    for (const [run] of text.matchAll(RUN)) runs.add(run);
    for (const run of runs) {
      const known = this.#runs.get(run);
      if (known) known.push(placed);
      else {
        this.#runs.set(run, [placed]);
        this.#index(run);
      }
    }
  }

  #index(run: string): void {
    const grams = new Set<string>();
    for (let at = 0; at + GRAM <= run.length; at++) grams.add(run.slice(at, at + GRAM));
    for (const gram of grams) {
      const known = this.#grams.get(gram);
      if (known) known.push(run);
      else this.#grams.set(gram, [run]);
    }
  }

  /** Every place that contains the string, in order. */
  find(value: string): Placed[] {
    let fewest: readonly string[] | undefined;
    for (let at = 0; at + GRAM <= value.length; at++) {
      const runs = this.#grams.get(value.slice(at, at + GRAM)) ?? [];
      if (!fewest || runs.length < fewest.length) fewest = runs;
    }
    const places = new Map<number, Placed>();
    for (const run of fewest ?? []) {
      if (!run.includes(value)) continue;
      for (const placed of this.#runs.get(run) ?? []) places.set(placed.position, placed);
    }
    return [...places.values()].toSorted((a, b) => a.position - b.position);
  }
}

/** The strings of every call of a session. Built once, and the same for every policy. */
export class WantedStrings {
  readonly blocks: Blocks;
  readonly #wanted: (readonly WantedString[])[] = [];

  constructor(session: RecordedSession) {
    this.blocks = new Blocks(session.factor);
    const index = new RunIndex();
    const firstBlock: number[] = [];
    let position = 0;
    for (const message of session.messages) {
      firstBlock.push(position);
      for (const block of this.blocks.of(message)) {
        index.add(block.text, { id: block.id, position });
        position++;
      }
    }
    const found = new Map<string, Placed[]>();
    for (const call of session.calls) {
      const start = firstBlock[call.end] ?? position;
      this.#wanted.push(wantedOf(session, call, start, index, found));
    }
  }

  of(call: ModelCall): readonly WantedString[] {
    return this.#wanted[call.index] ?? [];
  }
}

function wantedOf(
  session: RecordedSession,
  call: ModelCall,
  start: number,
  index: RunIndex,
  found: Map<string, Placed[]>,
): WantedString[] {
  return specificStrings(textOfMessage(outputOf(session, call))).flatMap((value) => {
    const places = found.get(value) ?? index.find(value);
    found.set(value, places);
    const before = places.filter(({ position }) => position < start);
    const last = before.at(-1);
    if (!last) return [];
    const holders = new Set(before.map(({ id }) => id));
    return [{ value, far: start - last.position > FAR_BLOCKS, holders }];
  });
}
