/** Inserts text of an engine as a part of the system instruction, after the harness's own. */
import { arrayElements, objectMembers, wholeValue } from "../../json/scan.ts";
import type { Rules, WireRequest } from "../wire-dialect.ts";
import { spanOf } from "./generate-content-fields.ts";

const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;

/** Undefined without an instruction: not every model accepts one, and none next to cached content, which has its own. */
export function systemRules({ body }: WireRequest, addition: string): Rules | undefined {
  const system = spanOf(objectMembers(body, wholeValue(body)), "systemInstruction");
  if (!system || body[system.start] !== OPEN_OBJECT) return undefined;
  const parts = objectMembers(body, system).get("parts");
  if (!parts || body[parts.start] !== OPEN_ARRAY) return undefined;
  const part = JSON.stringify({ text: addition });
  // Before the closing bracket.
  return { at: parts.end - 1, bytes: Buffer.from(arrayElements(body, parts).length > 0 ? `,${part}` : part) };
}
