/** The places where a context may be cut: rules for every compaction, whoever plans it. Pure. */
import type { AgentMessage } from "@pagurus/contract/message";
import { readSummary } from "@pagurus/contract/engine/summary";
import { callsOf, textOf } from "./message-text.ts";

export interface ContextShape {
  messages: readonly AgentMessage[];
  /** Index of the live turn's input; `messages.length` when there is none. */
  liveStart: number;
  /** Index of the summary message; -1 when there is none. */
  summaryIndex: number;
  /** True where a cut right before the message is allowed. */
  cuttable: boolean[];
  /** True where a turn begins whose input is in the context. */
  turnStart: boolean[];
  /** For the index of each result, the index of the assistant message with its call; -1 elsewhere. */
  callOf: Int32Array;
}

interface ShapeParams {
  messages: readonly AgentMessage[];
  liveStart: number;
  /** Entry ids of messages that no user wrote; no turn begins with one. */
  fragments?: ReadonlySet<string> | undefined;
}

/** Index of the summary: the first message, or the one right after the input of a split turn. */
function findSummary(messages: readonly AgentMessage[], liveStart: number): number {
  for (const index of [0, 1]) {
    const message = messages[index];
    if (message?.role !== "user") return -1;
    if (index !== liveStart && readSummary(textOf(message)) !== undefined) return index;
  }
  return -1;
}

/** Fills `callOf`; when an id repeats, a result belongs to the newest call before it. */
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

/** Cuts are allowed before an entry of the store, never at a result, never between a call and its result. */
function cutPoints(messages: readonly AgentMessage[], summaryIndex: number, callOf: Int32Array): boolean[] {
  const cuttable = messages.map(
    (message, index) =>
      index > summaryIndex && message.entryId !== undefined && message.role !== "toolResult",
  );
  // From the end: `reach` is the earliest call of any result at or after this index.
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
    // User messages during the live turn belong to it.
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

/** The last index where the live turn may be cut: before its newest closed round, and so before its open calls. */
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
 * The turn that a cut at `index` would split: the index of its first message, and of its input when the context has
 * it (maybe before the summary). Undefined when the cut is between turns.
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

/**
 * Returns the cut, or moves it before the input of a turn of which it would summarize nothing: the summary would
 * otherwise follow a newer message. Fragments count as nothing.
 */
export function cutOutside(shape: ContextShape, index: number, fragments: ReadonlySet<string>): number {
  const { messages, cuttable } = shape;
  const split = turnSplitAt(shape, index);
  if (split?.input === undefined || split.input !== split.start || !cuttable[split.start]) return index;
  const between = messages.slice(split.start + 1, index);
  return between.every(({ entryId }) => fragments.has(entryId ?? "")) ? split.start : index;
}
