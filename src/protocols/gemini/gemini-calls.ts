/**
 * Ids of function calls. The API's are optional: without one, an id is derived from what the call's own answer shows, so that the
 * answer and every later request with it have the same. A client may name a result differently from its call.
 */
import { createHash } from "node:crypto";
import type { ToolCallPart } from "../../contract/message.ts";
import { attempt } from "../../data/attempt.ts";
import { type Fields, isRecord, stringOf } from "../../data/record-fields.ts";

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

/**
 * The id of a call without one: from name and arguments, and the number of equal calls before it in the same answer, which `counts`
 * keeps. The same call in another answer has the same id, as with servers that count their calls from 0.
 */
export function callIdOf(name: string, args: Fields, counts: Map<string, number>): string {
  const call = callJson(name, args);
  const count = counts.get(call) ?? 0;
  counts.set(call, count + 1);
  return `call_${createHash("sha256").update(`${count} ${call}`).digest("hex").slice(0, 24)}`;
}

/** The id for a result without a call in the request. */
function loneId(result: Fields): string {
  return stringOf(result["id"]) || callIdOf(stringOf(result["name"]), {}, new Map());
}

/**
 * The ids of the calls that results answer, in the order of the results: the call with the result's id; else, since a client may
 * number results whose calls have no id, the first call of its name that is left.
 */
export function answeredIds(calls: readonly ToolCallPart[], results: readonly Fields[]): string[] {
  const left = [...calls];
  const taken = results.map(({ id }) => take(left, (call) => call.id === id));
  return results.map((result, index) => {
    const own = taken[index] ?? take(left, (call) => call.name === result["name"]);
    return own?.id ?? loneId(result);
  });
}

function take(calls: ToolCallPart[], isIt: (call: ToolCallPart) => boolean): ToolCallPart | undefined {
  const at = calls.findIndex(isIt);
  return at < 0 ? undefined : calls.splice(at, 1)[0];
}
