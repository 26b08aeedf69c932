/**
 * Function calls and their ids. The API's are optional: without one, an id is derived from the turn and the answer, so that the answer
 * as it passes and every later request with it have the same.
 */
import { createHash } from "node:crypto";
import { attempt } from "../../data/attempt.ts";
import { type Fields, isRecord, stringOf } from "../../data/record-fields.ts";
import { argumentsOf } from "../protocol-parts.ts";

export interface FunctionCall {
  id: string;
  /** The id as the request has it; empty for none. */
  ownId: string;
  name: string;
  args: Record<string, unknown>;
}

/** Without the name that Gemini CLI (0.61.0) puts before ids in some of its requests: `look__id`. */
function bareId(id: string, name: string): string {
  return id.startsWith(`${name}__`) ? id.slice(name.length + 2) : id;
}

/**
 * Whether a client has made the id itself, for a call that the API sent without one. Gemini CLI makes it from name, time and a number,
 * and `synth_…` for calls of a session that it has loaded.
 */
function isClients(id: string, name: string): boolean {
  return (
    id.startsWith("synth_") || (id.startsWith(`${name}_`) && /^\d{13}_\d+$/.test(id.slice(name.length + 1)))
  );
}

function ordered(_name: string, value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/**
 * A call as JSON, with the members of objects in alphabetical order: clients may send arguments back in another one. Of arguments that
 * are too deep only the name.
 */
function callJson(name: string, args: Fields): string {
  return attempt(() => JSON.stringify([name, args], ordered)) ?? name;
}

function digest(values: readonly unknown[]): string {
  return `call_${createHash("sha256").update(JSON.stringify(values)).digest("hex").slice(0, 24)}`;
}

/** Text with normalized white space, which clients may change. */
function plain(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/**
 * The calls of a turn, in order. A derived id is from the user's input, the answer's text, name and arguments, and the number of equal
 * calls before it in the turn: all of that stays when a client leaves out older turns.
 */
export class TurnCalls {
  #input = "";
  readonly #counts = new Map<string, number>();

  /** The user's input begins a turn. */
  begin(input: string): void {
    this.#input = plain(input);
    this.#counts.clear();
  }

  /** `calls`: those of the next answer, all of them in order. */
  answer(text: string, calls: readonly Fields[]): FunctionCall[] {
    return calls.map((call) => {
      const name = stringOf(call["name"]) || "unknown";
      const args = argumentsOf(call["args"]);
      const ownId = stringOf(call["id"]);
      const bare = bareId(ownId, name);
      if (bare !== "" && !isClients(bare, name)) return { id: bare, ownId, name, args };
      const json = callJson(name, args);
      const count = this.#counts.get(json) ?? 0;
      this.#counts.set(json, count + 1);
      return { id: digest([this.#input, plain(text), json, count]), ownId, name, args };
    });
  }
}

/** A result without its call in the request. */
function loneCall(result: Fields): FunctionCall {
  const ownId = stringOf(result["id"]);
  const name = stringOf(result["name"]) || "unknown";
  return { id: bareId(ownId, name) || digest([name]), ownId, name, args: {} };
}

/**
 * The calls that results answer, in the order of the results: the call with the result's id; else, since a client may number results
 * whose calls have no id, the first call of its name that is left. Undefined for a result that repeats an earlier one, as Gemini CLI
 * sends them after it has loaded a session.
 */
export function answeredCalls(
  calls: readonly FunctionCall[],
  results: readonly Fields[],
): readonly (FunctionCall | undefined)[] {
  const left = [...calls];
  const taken = results.map(({ id }) => take(left, ({ ownId }) => ownId !== "" && ownId === id));
  return results.map((result, index) => {
    const { id, name } = result;
    const isRepeated = stringOf(id) !== "" && results.slice(0, index).some((other) => other["id"] === id);
    if (taken[index] || isRepeated) return taken[index];
    return take(left, (call) => call.name === name) ?? loneCall(result);
  });
}

function take(calls: FunctionCall[], isIt: (call: FunctionCall) => boolean): FunctionCall | undefined {
  const at = calls.findIndex(isIt);
  return at < 0 ? undefined : calls.splice(at, 1)[0];
}
