/** Path patterns: `*` and `?` within a folder, `**` across folders, `[a-z]`, `{a,b}`, `\` before a literal. */
import { ToolError } from "../tool-error.ts";

/** Maximum length of a pattern. */
const MOST_CHARACTERS = 1_000;

export function escapeGlob(text: string): string {
  return text.replaceAll(/[*?[\]{}\\]/g, String.raw`\$&`);
}

/** The end of a character class that starts at `from`, or -1 where it is not closed. */
function classEnd(pattern: string, from: number): number {
  // A `]` right after the opening bracket (or its negation) is literal.
  const first = /[!^]/.test(pattern[from + 1] ?? "") ? from + 2 : from + 1;
  return pattern.indexOf("]", first + 1);
}

/** One character of a class, never a slash. Throws for a reversed range. */
function classTest(body: string): CharacterTest {
  const negated = /^[!^]/.test(body);
  const inner = (negated ? body.slice(1) : body).replaceAll(/[\\\]^[]/g, String.raw`\$&`);
  const expression = new RegExp(`^[${negated ? "^" : ""}${inner}]$`, "su");
  return (character) => character !== "/" && expression.test(character);
}

function bracesBalance(pattern: string): boolean {
  let depth = 0;
  for (const character of pattern.replaceAll(/\\./gs, "")) {
    if (character === "{") depth += 1;
    else if (character === "}" && --depth < 0) return false;
  }
  return depth === 0;
}

type CharacterTest = (character: string) => boolean;

const ANY: CharacterTest = () => true;
const SLASH: CharacterTest = (character) => character === "/";
const NOT_SLASH: CharacterTest = (character) => character !== "/";

/**
 * A pattern as a nondeterministic state machine. A text is matched against all reachable states at once, so a match takes at
 * most characters times states steps for any pattern, without backtracking.
 */
class Machine {
  readonly #moves: { test: CharacterTest; to: number }[][] = [[]];
  /** Transitions without a character. */
  readonly #free: number[][] = [[]];
  /** End state of the pattern so far. */
  #end = 0;
  readonly #groups: { start: number; ends: number[] }[] = [];

  get depth(): number {
    return this.#groups.length;
  }

  #state(): number {
    this.#free.push([]);
    return this.#moves.push([]) - 1;
  }

  #move(from: number, test: CharacterTest, to: number): void {
    this.#moves[from]?.push({ test, to });
  }

  /** A new state reached without a character, so that a loop on it does not affect earlier parts. */
  #fresh(from = this.#end): number {
    const state = this.#state();
    this.#free[from]?.push(state);
    return state;
  }

  one(test: CharacterTest): void {
    const next = this.#state();
    this.#move(this.#end, test, next);
    this.#end = next;
  }

  /** Any number of characters within a folder. */
  star(): void {
    this.#end = this.#fresh();
    this.#move(this.#end, NOT_SLASH, this.#end);
  }

  /** Any number of whole folders, each with its slash. */
  folders(): void {
    const start = this.#fresh();
    const name = this.#state();
    this.#move(start, NOT_SLASH, name);
    this.#move(name, NOT_SLASH, name);
    this.#move(name, SLASH, start);
    this.#end = start;
  }

  /** One or more characters, including slashes. */
  rest(): void {
    this.one(ANY);
    this.#move(this.#end, ANY, this.#end);
  }

  openGroup(): void {
    const start = this.#end;
    this.#groups.push({ start, ends: [] });
    this.#end = this.#fresh(start);
  }

  alternative(): void {
    const group = this.#groups.at(-1);
    if (!group) return;
    group.ends.push(this.#end);
    this.#end = this.#fresh(group.start);
  }

  /** Throws for an unmatched brace, whose partner is in a class. */
  closeGroup(): void {
    const group = this.#groups.pop();
    if (!group) throw new ToolError("A brace has no partner.");
    const end = this.#fresh();
    for (const from of group.ends) this.#free[from]?.push(end);
    this.#end = end;
  }

  matches(text: string): boolean {
    // Last step at which each state was reached.
    const reached = new Int32Array(this.#moves.length).fill(-1);
    let step = 0;
    let states: number[] = [];
    const reach = (into: number[], first: number): void => {
      if (reached[first] === step) return;
      reached[first] = step;
      const from = into.length;
      into.push(first);
      for (let at = from; at < into.length; at += 1) {
        for (const state of this.#free[into[at] ?? 0] ?? []) {
          if (reached[state] === step) continue;
          reached[state] = step;
          into.push(state);
        }
      }
    };
    reach(states, 0);
    for (const character of text) {
      step += 1;
      const next: number[] = [];
      for (const state of states) {
        for (const { test, to } of this.#moves[state] ?? []) if (test(character)) reach(next, to);
      }
      if (next.length === 0) return false;
      states = next;
    }
    return reached[this.#end] === step;
  }
}

function addStars(machine: Machine, pattern: string, at: number): number {
  const stars = /^\*+/.exec(pattern.slice(at))?.[0].length ?? 1;
  const opens = at === 0 || pattern[at - 1] === "/";
  if (stars > 1 && opens && pattern[at + stars] === "/") {
    machine.folders();
    return stars + 1;
  }
  if (stars > 1 && opens && at + stars === pattern.length) machine.rest();
  else machine.star();
  return stars;
}

function addLiteral(machine: Machine, literal: string): void {
  machine.one((character) => character === literal);
}

function machineOf(pattern: string, braces: boolean): Machine {
  const machine = new Machine();
  for (let at = 0; at < pattern.length;) {
    // Whole code points, as in the matched texts.
    const character = String.fromCodePoint(pattern.codePointAt(at) ?? 0);
    const end = character === "[" ? classEnd(pattern, at) : -1;
    if (character === "*") {
      at += addStars(machine, pattern, at);
      continue;
    }
    if (end > at) {
      machine.one(classTest(pattern.slice(at + 1, end)));
      at = end + 1;
      continue;
    }
    at += character.length;
    if (character === "\\" && at < pattern.length) {
      const literal = String.fromCodePoint(pattern.codePointAt(at) ?? 0);
      addLiteral(machine, literal);
      at += literal.length;
    } else if (character === "?") machine.one(NOT_SLASH);
    else if (braces && character === "{") machine.openGroup();
    else if (braces && character === "}") machine.closeGroup();
    else if (machine.depth > 0 && character === ",") machine.alternative();
    else addLiteral(machine, character);
  }
  if (machine.depth > 0) throw new ToolError("A brace has no partner.");
  return machine;
}

/** A test of paths with `/`, in time linear in the path for one pattern. Throws `ToolError` for an invalid pattern. */
export function globMatcher(pattern: string, options: { braces?: boolean } = {}): (path: string) => boolean {
  if (pattern.length > MOST_CHARACTERS) {
    throw new ToolError(`A pattern may have ${MOST_CHARACTERS} characters at most.`);
  }
  const braces = (options.braces ?? true) && bracesBalance(pattern);
  let machine: Machine;
  try {
    machine = machineOf(pattern, braces);
  } catch {
    throw new ToolError(`The pattern "${pattern}" cannot be read; check its [ ] ranges.`);
  }
  return (path) => machine.matches(path);
}
