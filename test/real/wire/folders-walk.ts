/** Walks over everything that a user can do in a folder with two wrapped programs; the same for the same seed. */
import { mulberry32 } from "../../../bench/generate.ts";

export const PROGRAMS = ["claude", "codex"] as const;
export type Program = (typeof PROGRAMS)[number];

/**
 * `resume`: the program's own flag for its last conversation; `continue`: `wire --continue`; `own`, `other`: `wire --continue KEY`
 * with the key of a session that the same or the other program began.
 */
export const WAYS = ["new", "resume", "continue", "own", "other"] as const;
export type Way = (typeof WAYS)[number];

export interface Step {
  program: Program;
  way: Way;
}

/** The second program starts while the first one is live, and ends before it. */
export interface Round {
  first: Step;
  second: Step | undefined;
}

export class Random {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = mulberry32(seed);
  }

  coin(): boolean {
    return this.#next() < 0.5;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.#next() * choices.length)] as T;
  }

  shuffled<T>(choices: readonly T[]): T[] {
    return choices
      .map((choice) => [this.#next(), choice] as const)
      .toSorted(([one], [other]) => one - other)
      .map(([, choice]) => choice);
  }
}

const STEPS: readonly Step[] = PROGRAMS.flatMap((program) => WAYS.map((way) => ({ program, way })));

export function otherOf(program: Program): Program {
  return program === "claude" ? "codex" : "claude";
}

export function nameOf({ program, way }: Step): string {
  return `${program} ${way}`;
}

/**
 * First programs: an Eulerian circuit, so that each ordered pair of steps follows directly once. Second programs: each step once
 * beside each first one. 101 rounds; in the opening round both programs begin a conversation.
 */
export function everyPair(program: Program, random: Random): Round[] {
  const opening = STEPS.find((step) => nameOf(step) === `${program} new`);
  const beside = STEPS.find((step) => nameOf(step) === `${otherOf(program)} new`);
  if (!opening || !beside) throw new Error("no opening");
  const seconds = new Map(STEPS.map((step) => [step, random.shuffled(STEPS)]));
  seconds.set(opening, [beside, ...random.shuffled(STEPS.filter((step) => step !== beside))]);
  return circuit(opening, random).map((first) => ({ first, second: seconds.get(first)?.shift() }));
}

/** Hierholzer's algorithm over the complete graph of the steps, with loops. */
function circuit(start: Step, random: Random): Step[] {
  const unused = new Map(STEPS.map((step) => [step, random.shuffled(STEPS)]));
  const path = [start];
  const closed: Step[] = [];
  for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
    const next = unused.get(at)?.pop();
    if (next !== undefined) path.push(next);
    else closed.unshift(...path.splice(-1));
  }
  return closed;
}

/**
 * A sample of three rounds for each of two folders. Each folder has each way, with the other program than the other folder; what
 * is the step of a first program in one of them is that of a second one in the other.
 */
export function sample(random: Random): [Round[], Round[]] {
  const steps = random
    .shuffled(WAYS.filter((way) => way !== "new"))
    .map((way) => ({ way, program: random.pick(PROGRAMS) }));
  const swapped = steps.map(({ way, program }) => ({ way, program: otherOf(program) }));
  const rounds = (program: Program, firsts: readonly Step[], seconds: readonly Step[]): Round[] => [
    { first: { program, way: "new" }, second: { program: otherOf(program), way: "new" } },
    ...firsts.map((first, index) => ({ first, second: seconds[index] })),
  ];
  return [
    rounds("claude", steps.slice(0, 2), steps.slice(2)),
    rounds("codex", random.shuffled(swapped.slice(2)), swapped.slice(0, 2)),
  ];
}
