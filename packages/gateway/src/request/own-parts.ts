/** Digests of what a program puts before the conversation: what its provider's cache depends on, and no part of the engine's context. */
import { hash } from "node:crypto";
import type { OwnParts } from "@pagurus/contract/session/receipt";
import { attempt } from "@pagurus/core/data/attempt";
import type { WireRequest } from "../dialect/wire-dialect.ts";
import { objectMembers, wholeValue } from "../json/scan.ts";

const SYSTEM = ["system", "instructions", "systemInstruction", "system_instruction"];
/** Marks are no content, and Claude Code's billing line has another value in each request, which Anthropic's cache ignores. */
const NO_CONTENT =
  /,"cache_control":\{[^{}]*\}|"cache_control":\{[^{}]*\},?|x-anthropic-billing-header:[^"]*/g;

/** Undefined for a body that is no JSON object. */
export function ownPartsOf(request: WireRequest): OwnParts | undefined {
  return attempt(() => partsOf(request));
}

function partsOf({ body, list, items, prefixCount }: WireRequest): OwnParts {
  // The list is most of the body, and is not scanned again.
  const outside = Buffer.concat([body.subarray(0, list.start + 1), body.subarray(list.end - 1)]);
  const members = objectMembers(outside, wholeValue(outside));
  const textOf = (name: string): string => {
    const span = members.get(name);
    return span ? outside.subarray(span.start, span.end).toString("utf8") : "";
  };
  const leading = items
    .slice(0, prefixCount)
    .map(({ start, end }) => body.subarray(start, end).toString("utf8"));
  return { system: digest([...SYSTEM.map(textOf), ...leading]), tools: digest([textOf("tools")]) };
}

function digest(texts: readonly string[]): string {
  return hash("sha256", texts.join("\n").replace(NO_CONTENT, "")).slice(0, 16);
}
