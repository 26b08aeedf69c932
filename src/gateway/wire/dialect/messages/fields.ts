/** Parts of a body of the Messages API; nothing is taken for granted. */
import { textOf } from "../../json/fields.ts";
import { JsonScanError, objectMembers, parsePart, type Span } from "../../json/scan.ts";

/** `{"role":"assistant",` and some more. */
const LONGEST_ROLE = 32;

/** Undefined where the object lacks it. Throws `JsonScanError`. */
export function memberOf(body: Buffer, members: ReadonlyMap<string, Span>, name: string): unknown {
  const span = members.get(name);
  return span && parsePart(body, span);
}

/** The value where it can be read; undefined for one that is broken inside: its place is known, what it says is not. */
export function readable(body: Buffer, span: Span): unknown {
  try {
    return parsePart(body, span);
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

/** Where the role is the first member of an element, the rest of it is not looked through. Throws `JsonScanError`. */
export function roleOf(body: Buffer, span: Span): string {
  const beginning = body.toString("latin1", span.start, Math.min(span.end, span.start + LONGEST_ROLE));
  const first = /^\{"role":"([a-z]+)"[,}]/.exec(beginning)?.[1];
  return first ?? textOf(memberOf(body, objectMembers(body, span), "role"));
}
