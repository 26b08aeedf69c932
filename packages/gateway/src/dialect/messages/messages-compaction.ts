/**
 * Compactions of the Messages API itself. `compaction: {type: "summarize"}` asks for nothing else; the edit `compact_20260112` of
 * `context_management` lets the provider compact a longer input than its trigger before the model answers. Both leave a block of
 * type `compaction`, which replaces everything before it. Shapes: `@anthropic-ai/sdk` 1.12, `resources/beta/messages`.
 */
import { countOf, type Fields, filledString, recordOf, recordsOf } from "@pagurus/core/data/record-fields";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import type { Span } from "../../json/scan.ts";
import type { WireRequest } from "../wire-dialect.ts";
import { sealed, unsealed, type Unsealed } from "../sealed-summary.ts";
import { memberOf } from "./messages-fields.ts";
import { defined } from "@pagurus/core/data/defined";

export const COMPACTION_BLOCK = "compaction";
const EDIT = "compact_20260112";
/** The trigger of an edit that has none, tokens of input. */
const DEFAULT_TRIGGER = 150_000;

type Compaction = NonNullable<WireRequest["compaction"]>;

function focusOf(instructions: unknown): { focus?: string } {
  const focus = filledString(instructions)?.trim();
  return focus === undefined || focus === "" ? {} : { focus };
}

/**
 * Whether the request asks for a compaction, or its edit would compact it. An edit without `pause_after_compaction` is none: its
 * block and the model's answer are one message, which only the provider can make. `from`: where the newest compaction block begins;
 * what comes before it does not count. Throws `JsonScanError`.
 */
export function nativeCompaction(
  body: Buffer,
  members: ReadonlyMap<string, Span>,
  { list, from }: { list: Span; from: number },
): Compaction | undefined {
  const asked = recordOf(memberOf(body, members, "compaction"));
  if (asked["type"] === "summarize")
    return { trigger: "manual", isWhole: true, ...focusOf(asked["instructions"]) };
  const edits = recordsOf(recordOf(memberOf(body, members, "context_management"))["edits"]);
  const edit = edits.find(({ type }) => type === EDIT);
  if (!edit || edit["pause_after_compaction"] !== true) return undefined;
  const trigger = countOf(recordOf(edit["trigger"])["value"]) ?? DEFAULT_TRIGGER;
  const counted = Buffer.concat([body.subarray(0, list.start), body.subarray(from)]);
  // No token is shorter than a byte.
  if (counted.length < trigger || estimateTokens(counted.toString("utf8")) < trigger) return undefined;
  return { trigger: "auto", isWhole: true, otherwise: "main", ...focusOf(edit["instructions"]) };
}

/** A summary of the engine as a block; its text may be empty in neither field. */
export function compactionBlock(request: WireRequest, summary: string): Fields {
  const { contentId } = request.native;
  const mark = sealed({ summary: "", ...defined({ contentId }) });
  return { type: COMPACTION_BLOCK, content: summary, encrypted_content: mark };
}

/** The engine's summary in a block; undefined for any other block. */
export function ownSummary({ type, content, encrypted_content: mark }: Fields): Unsealed | undefined {
  const own = type === COMPACTION_BLOCK ? unsealed(mark) : undefined;
  return own && { ...own, summary: filledString(content) ?? "" };
}
