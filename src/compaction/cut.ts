/** Whether a cut that an engine or a hook chose itself may be made. Pure. */
import type { AgentMessage } from "../contract/message.ts";
import { lastSplit, shapeOf, turnSplitAt } from "./cut-points.ts";

/**
 * The place of `firstKeptEntryId` in a context, or why a cut there is refused: the entry is not of this context, not
 * behind its summary, nothing lies before it, it would part a call from its results, or it would take the live
 * turn's newest closed round or its open calls. `splitTurnInputId` is set where the cut lies inside a turn: that
 * turn's input has to stay verbatim, before the summary.
 */
export function checkCut(params: {
  /** A context as the store gives it; see `planCompaction`. */
  messages: readonly AgentMessage[];
  liveStart: number;
  firstKeptEntryId: string;
  fragments?: ReadonlySet<string>;
}): { index: number; splitTurnInputId?: string } | { reason: string } {
  const { messages, liveStart, firstKeptEntryId } = params;
  const index = messages.findIndex((message) => message.entryId === firstKeptEntryId);
  const refused = (why: string): { reason: string } => ({
    reason: `the cut before entry ${firstKeptEntryId} is not allowed: ${why}`,
  });
  if (index < 0) return refused("the context has no such entry");
  const shape = shapeOf(params);
  if (index <= shape.summaryIndex) return refused("it is not behind the summary that the context has");
  if (index === 0) return refused("nothing lies before it");
  if (messages[index]?.role === "toolResult") return refused("it is a tool's result");
  if (!shape.cuttable[index]) return refused("a tool call before it has its result behind it");
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
  return { index, ...(inputId === undefined ? {} : { splitTurnInputId: inputId }) };
}
