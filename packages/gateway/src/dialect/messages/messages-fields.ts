/** Access to parts of a Messages API body, without assumptions about their types. */
import { stringOf } from "@pagurus/core/data/record-fields";
import { objectMembers, parsePart, type Span } from "../../json/scan.ts";

/** Scan limit for the role, bytes: `{"role":"assistant",` and some more. */
const LONGEST_ROLE = 32;

/** Undefined if the object lacks it. Throws `JsonScanError`. */
export function memberOf(body: Buffer, members: ReadonlyMap<string, Span>, name: string): unknown {
  const span = members.get(name);
  return span && parsePart(body, span);
}

/** If the role is the first member of an element, the rest of it is not scanned. Throws `JsonScanError`. */
export function roleOf(body: Buffer, span: Span): string {
  const beginning = body.toString("latin1", span.start, Math.min(span.end, span.start + LONGEST_ROLE));
  const first = /^\{"role":"([a-z]+)"[,}]/.exec(beginning)?.[1];
  return first ?? stringOf(memberOf(body, objectMembers(body, span), "role"));
}
