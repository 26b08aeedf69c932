/** Where a compaction cuts: what is summarized and what stays verbatim. Pure. */
import type { AgentMessage } from "../contract/message.ts";
import { readSummary } from "../contract/summary.ts";
import { messageTokens } from "../tokens/messages.ts";
import { callsOf, textOf } from "./message-text.ts";

export interface CompactionPlan {
  /** Oldest first; without the previous summary and, in a split live turn, without its input. */
  toSummarize: AgentMessage[];
  previousSummary?: string;
  /** Index into the messages given. All from here on stays verbatim. */
  firstKeptIndex: number;
  firstKeptEntryId: string;
  /** Set when the live turn is cut: the entry of its input, which stays verbatim before the summary. */
  splitTurnInputId?: string;
  /** Of all messages given. */
  tokensBefore: number;
}

interface PlanParams {
  /** A context as the store gives it: maybe a summary first (or right after a split live turn's input). */
  messages: readonly AgentMessage[];
  /** Index of the live turn's input; `messages.length` where there is none. */
  liveStart: number;
  keepRecentTokens: number;
  tokens?: (message: AgentMessage) => number;
}

interface Context {
  messages: readonly AgentMessage[];
  liveStart: number;
  summaryIndex: number;
  /** True where a cut right before the message is allowed. */
  cuttable: boolean[];
  /** Tokens of the message and all after it. */
  suffix: number[];
  keep: number;
}

/** Index of the summary message of a context; -1 where there is none. */
function findSummary(messages: readonly AgentMessage[], liveStart: number): number {
  for (const index of [0, 1]) {
    const message = messages[index];
    if (message?.role !== "user") return -1;
    if (index !== liveStart && readSummary(textOf(message)) !== undefined) return index;
  }
  return -1;
}

/** Index of the assistant message that made the call of each result; the newest one when an id repeats. */
function callIndexes(messages: readonly AgentMessage[]): Map<number, number> {
  const made = new Map<string, number>();
  const indexes = new Map<number, number>();
  for (const [index, message] of messages.entries()) {
    if (message.role === "assistant") for (const call of callsOf(message)) made.set(call.id, index);
    if (message.role !== "toolResult") continue;
    const from = made.get(message.toolCallId);
    if (from !== undefined) indexes.set(index, from);
  }
  return indexes;
}

/** A cut stands before an entry the store knows, never at a result, never between a call and its result. */
function cutPoints(
  messages: readonly AgentMessage[],
  summaryIndex: number,
  callOf: Map<number, number>,
): boolean[] {
  const cuttable = messages.map(
    (message, index) =>
      index > summaryIndex && message.entryId !== undefined && message.role !== "toolResult",
  );
  // From the end: `reach` is the earliest call that a result at or after this place belongs to.
  let reach = messages.length;
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    reach = Math.min(reach, callOf.get(index) ?? reach);
    if (reach < index) cuttable[index] = false;
  }
  return cuttable;
}

/** The newest place where a live turn may be cut: before its newest closed round, so before its open calls too. */
function lastSplit(context: Context, callOf: Map<number, number>): number | undefined {
  const { messages, liveStart } = context;
  const answered = new Map<number, Set<string>>();
  for (const [index, from] of callOf) {
    const message = messages[index];
    if (message?.role !== "toolResult") continue;
    const ids = answered.get(from) ?? new Set<string>();
    answered.set(from, ids.add(message.toolCallId));
  }
  let last: number | undefined;
  for (let index = liveStart + 1; index < messages.length; index += 1) {
    const message = messages[index];
    if (message?.role !== "assistant") continue;
    if (callsOf(message).some((call) => !answered.get(index)?.has(call.id))) break;
    if (context.cuttable[index]) last = index;
  }
  return last;
}

/** The oldest cut of a live turn that keeps input and tail within the share; undefined when nothing would go. */
function splitLive(context: Context, callOf: Map<number, number>): number | undefined {
  const { messages, liveStart, suffix, keep, cuttable, summaryIndex } = context;
  if (messages[liveStart]?.entryId === undefined) return undefined;
  const last = lastSplit(context, callOf);
  if (last === undefined) return undefined;
  const inputTokens = (suffix[liveStart] ?? 0) - (suffix[liveStart + 1] ?? 0);
  const first = Math.max(liveStart, summaryIndex) + 2;
  for (let index = first; index <= last; index += 1) {
    if (index === last) return last;
    if (cuttable[index] && inputTokens + (suffix[index] ?? 0) <= keep) return index;
  }
  return undefined;
}

/**
 * The cut outside the live turn: before the oldest turn that still fits, else before the live turn. Only a newest
 * turn that alone exceeds what is kept is cut inside, before its oldest round that fits.
 */
function cutBefore(context: Context): number | undefined {
  const { messages, liveStart, suffix, keep, cuttable, summaryIndex } = context;
  let round: number | undefined;
  let newestTurn = 0;
  for (let index = 0; index < Math.min(liveStart, messages.length); index += 1) {
    if (!cuttable[index]) continue;
    const fits = (suffix[index] ?? 0) <= keep;
    // What follows a summary may be the rest of a turn: keeping all of it is no cut at all.
    if (messages[index]?.role === "user" || index === summaryIndex + 1) {
      if (fits) return index;
      newestTurn = index;
    } else if (fits) round ??= index;
  }
  const turnTokens = (suffix[newestTurn] ?? 0) - (suffix[liveStart] ?? 0);
  if (liveStart < messages.length && cuttable[liveStart] && (round === undefined || turnTokens <= keep)) {
    return liveStart;
  }
  const last = cuttable.lastIndexOf(true, liveStart);
  return round ?? (last < 0 ? undefined : last);
}

function contextOf(params: PlanParams): { context: Context; callOf: Map<number, number> } {
  const { messages, liveStart } = params;
  const tokens = params.tokens ?? messageTokens;
  const summaryIndex = findSummary(messages, liveStart);
  const callOf = callIndexes(messages);
  const suffix = Array.from<number>({ length: messages.length + 1 }).fill(0);
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    suffix[index] = (suffix[index + 1] ?? 0) + (message ? tokens(message) : 0);
  }
  const cuttable = cutPoints(messages, summaryIndex, callOf);
  return {
    context: { messages, liveStart, summaryIndex, cuttable, suffix, keep: params.keepRecentTokens },
    callOf,
  };
}

/**
 * Chooses the cut. Call and results stay together; cuts fall between turns, or between the rounds of the newest
 * turn when it alone exceeds `keepRecentTokens`. The live turn is cut only when it alone exceeds them: its input,
 * its newest closed round and all after it stay. `reason` says why there is nothing to summarize.
 */
export function planCompaction(params: PlanParams): CompactionPlan | { reason: string } {
  const { messages, liveStart } = params;
  const { context, callOf } = contextOf(params);
  const { suffix, summaryIndex } = context;
  const tooLarge = (suffix[liveStart] ?? 0) > context.keep;
  const split = liveStart < messages.length && tooLarge ? splitLive(context, callOf) : undefined;
  const cut = split ?? cutBefore(context);
  const firstKept = cut === undefined ? undefined : messages[cut]?.entryId;
  if (cut === undefined || firstKept === undefined) {
    return { reason: "There is nothing to compact: the context has no message before the current turn." };
  }
  const live = split === undefined ? undefined : messages[liveStart];
  const toSummarize = messages.filter(
    (message, index) => index < cut && index !== summaryIndex && message !== live,
  );
  // What stands before a previous summary is the input of a turn that was split: it alone is no gain.
  const gained = toSummarize.length - (summaryIndex === 1 && live !== messages[0] ? 1 : 0);
  if (gained <= 0) {
    return {
      reason:
        `There is nothing to compact: the ${messages.length} messages of the context are the current turn, ` +
        `an earlier summary, or within the ${context.keep} tokens that stay verbatim.`,
    };
  }
  const summary = messages[summaryIndex];
  const previousSummary = summary && readSummary(textOf(summary));
  return {
    toSummarize,
    firstKeptIndex: cut,
    firstKeptEntryId: firstKept,
    tokensBefore: suffix[0] ?? 0,
    ...(previousSummary === undefined ? {} : { previousSummary }),
    ...(live?.entryId === undefined ? {} : { splitTurnInputId: live.entryId }),
  };
}
