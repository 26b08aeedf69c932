/** Validates a cut that an engine or a hook chose. Pure. */
import type { AgentMessage } from "@pagurus/contract/message";
import { cutOutside, lastSplit, shapeOf, turnSplitAt } from "./cut-points.ts";
import { defined } from "../data/defined.ts";

/**
 * Index of `firstKeptEntryId` in a context, or why a cut there is refused: the entry is not in this context or not
 * after its summary, nothing precedes it, it would separate a call from its results, or it would summarize the live
 * turn's newest closed round or its open calls. `splitTurnInputId` is set when the cut is inside a turn: that turn's
 * input has to stay verbatim, before the summary. A cut right after a turn's input summarizes nothing of that turn and
 * moves before the input: `firstKeptEntryId` then names the input.
 */
export function checkCut(params: {
  /** A context as the store returns it; see `planCompaction`. */
  messages: readonly AgentMessage[];
  liveStart: number;
  firstKeptEntryId: string;
  fragments?: ReadonlySet<string>;
}): { index: number; firstKeptEntryId?: string; splitTurnInputId?: string } | { reason: string } {
  const { messages, liveStart, firstKeptEntryId } = params;
  const asked = messages.findIndex((message) => message.entryId === firstKeptEntryId);
  const refused = (why: string): { reason: string } => ({
    reason: `the cut before entry ${firstKeptEntryId} is not allowed: ${why}`,
  });
  if (asked < 0) return refused("the context has no such entry");
  const shape = shapeOf(params);
  const index = cutOutside(shape, asked, params.fragments ?? new Set());
  if (index <= shape.summaryIndex) return refused("it is not after the summary of the context");
  if (index === 0) return refused("nothing is before it");
  if (messages[index]?.role === "toolResult") return refused("it is a tool's result");
  if (!shape.cuttable[index]) return refused("it separates a tool call from its result");
  if (index > liveStart) {
    if (messages[liveStart]?.entryId === undefined) {
      return refused("it splits the current turn, whose input is not in the transcript");
    }
    const last = lastSplit(shape);
    if (last === undefined || index > last) {
      return refused("the newest closed round and the open calls of the current turn have to stay");
    }
  }
  const input = turnSplitAt(shape, index)?.input;
  const inputId = input === undefined ? undefined : messages[input]?.entryId;
  const movedTo = index === asked ? undefined : messages[index]?.entryId;
  return { index, ...defined({ firstKeptEntryId: movedTo, splitTurnInputId: inputId }) };
}
