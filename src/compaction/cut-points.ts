/** Where a context may be cut at all: what each compaction, whoever plans it, has to respect. Pure. */
import type { AgentMessage } from "../contract/message.ts";
import { readSummary } from "../contract/summary.ts";
import { callsOf, textOf } from "./message-text.ts";

export interface ContextShape {
  messages: readonly AgentMessage[];
  /** Index of the live turn's input; `messages.length` where there is none. */
  liveStart: number;
  /** Index of the summary message; -1 where there is none. */
  summaryIndex: number;
  /** True where a cut right before the message is allowed. */
  cuttable: boolean[];
  /** True where a turn begins that the context holds from its input on. */
  turnStart: boolean[];
  /** Index of the assistant message that made the call of each result, by the result's index; -1 elsewhere. */
  callOf: Int32Array;
}

interface ShapeParams {
  messages: readonly AgentMessage[];
  liveStart: number;
  /** Entry ids of messages that no user wrote; no turn begins with one. */
  fragments?: ReadonlySet<string> | undefined;
}

/** A summary stands first, or right behind the input of a turn that was split. */
function findSummary(messages: readonly AgentMessage[], liveStart: number): number {
  for (const index of [0, 1]) {
    const message = messages[index];
    if (message?.role !== "user") return -1;
    if (index !== liveStart && readSummary(textOf(message)) !== undefined) return index;
  }
  return -1;
}

/** The newest call before it when an id repeats. */
function callIndexes(messages: readonly AgentMessage[]): Int32Array {
  const made = new Map<string, number>();
  const indexes = new Int32Array(messages.length).fill(-1);
  for (const [index, message] of messages.entries()) {
    if (message.role === "assistant") {
      for (const part of message.content) if (part.type === "toolCall") made.set(part.id, index);
    } else if (message.role === "toolResult") indexes[index] = made.get(message.toolCallId) ?? -1;
  }
  return indexes;
}

/** A cut stands before an entry the store knows, never at a result, never between a call and its result. */
function cutPoints(messages: readonly AgentMessage[], summaryIndex: number, callOf: Int32Array): boolean[] {
  const cuttable = messages.map(
    (message, index) =>
      index > summaryIndex && message.entryId !== undefined && message.role !== "toolResult",
  );
  // From the end: `reach` is the earliest call that a result at or after this place belongs to.
  let reach = messages.length;
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const call = callOf[index] ?? -1;
    if (call >= 0) reach = Math.min(reach, call);
    if (reach < index) cuttable[index] = false;
  }
  return cuttable;
}

export function shapeOf(params: ShapeParams): ContextShape {
  const { messages, liveStart, fragments } = params;
  const summaryIndex = findSummary(messages, liveStart);
  const callOf = callIndexes(messages);
  const turnStart = messages.map((message, index) => {
    // What the user says while the live turn runs belongs to it.
    if (index >= liveStart) return index === liveStart;
    return message.role === "user" && index !== summaryIndex && !fragments?.has(message.entryId ?? "");
  });
  return {
    messages,
    liveStart,
    summaryIndex,
    callOf,
    turnStart,
    cuttable: cutPoints(messages, summaryIndex, callOf),
  };
}

/** The newest place where the live turn may be cut: before its newest closed round, so before its open calls too. */
export function lastSplit(shape: ContextShape): number | undefined {
  const { messages, liveStart, callOf, cuttable } = shape;
  const answers = new Map<number, string[]>();
  for (let index = liveStart; index < messages.length; index += 1) {
    const message = messages[index];
    const from = callOf[index] ?? -1;
    if (message?.role !== "toolResult" || from < 0) continue;
    answers.set(from, [...(answers.get(from) ?? []), message.toolCallId]);
  }
  let last: number | undefined;
  for (let index = liveStart + 1; index < messages.length; index += 1) {
    const message = messages[index];
    if (message?.role !== "assistant") continue;
    const left = [...(answers.get(index) ?? [])];
    const open = callsOf(message).some((call) => {
      const at = left.indexOf(call.id);
      if (at >= 0) left.splice(at, 1);
      return at < 0;
    });
    if (open) break;
    if (cuttable[index]) last = index;
  }
  return last;
}

/**
 * The turn that a cut at `index` would split: where its messages begin, and its input where the context has it (it
 * may stand before the summary). Undefined when the cut lies between turns.
 */
export function turnSplitAt(
  shape: ContextShape,
  index: number,
): { start: number; input?: number } | undefined {
  const { messages, summaryIndex, turnStart } = shape;
  if (turnStart[index]) return undefined;
  for (let at = index - 1; at > summaryIndex; at -= 1) if (turnStart[at]) return { start: at, input: at };
  if (index === summaryIndex + 1 && summaryIndex !== 1) return undefined;
  const known = summaryIndex === 1 && messages[0]?.entryId !== undefined;
  return { start: summaryIndex + 1, ...(known ? { input: 0 } : {}) };
}
