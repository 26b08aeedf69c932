/** Inserts text of an engine as a block of the system prompt, after the harness's own. */
import { arrayElements, objectMembers, wholeValue } from "../../json/scan.ts";
import type { Rules, WireRequest } from "../wire-dialect.ts";

const OPEN_ARRAY = 0x5b;
const QUOTE = 0x22;

export function systemRules({ body }: WireRequest, addition: string): Rules | undefined {
  const span = objectMembers(body, wholeValue(body)).get("system");
  if (!span) return undefined;
  // Before the closing bracket or quotation mark.
  const at = span.end - 1;
  if (body[span.start] === QUOTE)
    return { at, bytes: Buffer.from(JSON.stringify(`\n\n${addition}`).slice(1, -1)) };
  if (body[span.start] !== OPEN_ARRAY) return undefined;
  const block = JSON.stringify({ type: "text", text: addition });
  return { at, bytes: Buffer.from(arrayElements(body, span).length > 0 ? `,${block}` : block) };
}
