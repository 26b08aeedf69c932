/** Specific strings that the agent typed in each call, and where in the history they occurred before (M3). */
import type { AssistantMessage } from "@pagurus/contract/message";
import { Pace } from "@pagurus/core/platform/pace";
import { Blocks, textOfMessage } from "./prompt-blocks.ts";
import { outputOf, type ModelCall, type RecordedSession } from "./recorded-session.ts";

/** A string last seen more than so many blocks ago is far. */
const FAR_BLOCKS = 30;
const SPECIFIC = /[A-Za-z0-9_][A-Za-z0-9_./:-]{5,}/g;
const CHARACTER_RUN = /[A-Za-z0-9_./:-]{6,}/g;
const GRAM = 6;
/** Runs whose strings are remembered. */
const MOST_RUNS = 200_000;

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

/**
 * Finds which of a set of strings each text contains. A specific string is part of one unbroken run of its characters, so only the
 * runs are searched, each distinct one once: memory grows with the strings and their places, not with the texts.
 */
class PlaceIndex {
  /** Strings by their first characters. */
  readonly #byStart = new Map<string, string[]>();
  readonly #places = new Map<string, Placed[]>();
  /** Strings in the runs of the newest texts; a run without any is the most frequent case. */
  readonly #known = new Map<string, readonly string[]>();

  constructor(strings: Iterable<string>) {
    for (const value of strings) {
      this.#places.set(value, []);
      const start = value.slice(0, GRAM);
      const known = this.#byStart.get(start);
      if (known) known.push(value);
      else this.#byStart.set(start, [value]);
    }
  }

  add(text: string, placed: Placed): void {
    const found = new Set<string>();
    for (const [run] of text.matchAll(CHARACTER_RUN)) for (const value of this.#inRun(run)) found.add(value);
    for (const value of found) this.#places.get(value)?.push(placed);
  }

  #inRun(run: string): readonly string[] {
    const known = this.#known.get(run);
    if (known) return known;
    const found = new Set<string>();
    for (let at = 0; at + GRAM <= run.length; at++) {
      for (const value of this.#byStart.get(run.slice(at, at + GRAM)) ?? [])
        if (run.startsWith(value, at)) found.add(value);
    }
    if (this.#known.size >= MOST_RUNS) this.#known.clear();
    const made = [...found];
    this.#known.set(run, made);
    return made;
  }

  /** Every place that contains the string, in order. */
  find(value: string): readonly Placed[] {
    return this.#places.get(value) ?? [];
  }
}

/** The text of a call's output in which strings are looked for. */
export type TextOfOutput = (output: AssistantMessage) => string;

/** The values in the arguments of an output's tool calls. */
export function argumentsText(output: AssistantMessage): string {
  return textOfMessage({ ...output, content: output.content.filter(({ type }) => type === "toolCall") });
}

/** The strings of every call of a session; the same for every policy. */
export class WantedStrings {
  readonly blocks: Blocks;
  readonly #wanted: readonly (readonly WantedString[])[];

  private constructor(blocks: Blocks, wanted: readonly (readonly WantedString[])[]) {
    this.blocks = blocks;
    this.#wanted = wanted;
  }

  /** Those of the whole outputs, or of another text of them. Works in slices; throws `turn_aborted` as `pace`. */
  static async of(
    session: RecordedSession,
    textOf: TextOfOutput = textOfMessage,
    pace = new Pace(),
  ): Promise<WantedStrings> {
    const blocks = new Blocks(session.factor);
    const typed: string[][] = [];
    await pace.each(session.calls, (call) => typed.push(specificStrings(textOf(outputOf(session, call)))));
    const index = new PlaceIndex(new Set(typed.flat()));
    const firstBlock: number[] = [];
    let position = 0;
    await pace.each(session.messages, (message) => {
      firstBlock.push(position);
      for (const { id, text } of blocks.of(message)) index.add(text, { id, position: position++ });
    });
    const wanted: WantedString[][] = [];
    await pace.each(session.calls, (call, nth) => {
      const start = firstBlock[call.end] ?? position;
      wanted.push((typed[nth] ?? []).flatMap((value) => wantedString(value, index.find(value), start)));
    });
    return new WantedStrings(blocks, wanted);
  }

  of(call: ModelCall): readonly WantedString[] {
    return this.#wanted[call.index] ?? [];
  }
}

/** Empty for a string that did not occur before the block `start`. */
function wantedString(value: string, places: readonly Placed[], start: number): WantedString[] {
  const before = places.filter(({ position }) => position < start);
  const last = before.at(-1);
  if (!last) return [];
  const holders = new Set(before.map(({ id }) => id));
  return [{ value, far: start - last.position > FAR_BLOCKS, holders }];
}
