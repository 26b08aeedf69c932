/** Plans where a compaction cuts: which messages are summarized and which stay verbatim. Pure. */
import type { AgentMessage } from "@pagurus/contract/message";
import { readSummary } from "@pagurus/contract/engine/summary";
import { messageTokens } from "../tokens/message-tokens.ts";
import { cutOutside, lastSplit, shapeOf, turnSplitAt, type ContextShape } from "./cut-points.ts";
import { textOf } from "./message-text.ts";
import { defined } from "../data/defined.ts";

export interface CompactionPlan {
  /** Oldest first; without the previous summary, fragments and the input of a split turn. */
  toSummarize: AgentMessage[];
  /** How many of the last messages of `toSummarize` belong to the split turn; 0 when no turn is split. */
  splitTurnMessages: number;
  previousSummary?: string;
  /** Index into the input messages. All from here on stay verbatim. */
  firstKeptIndex: number;
  firstKeptEntryId: string;
  /** Set when a turn is split: the entry of its input, which stays verbatim before the summary. */
  splitTurnInputId?: string;
  /** Tokens of all input messages. */
  tokensBefore: number;
}

interface PlanParams {
  /** A context as the store returns it: maybe a summary first (or right after a split turn's input). */
  messages: readonly AgentMessage[];
  /** Index of the live turn's input; `messages.length` when there is none. */
  liveStart: number;
  keepRecentTokens: number;
  /**
   * A turn of at most this many tokens is split only when nothing older can be summarized; default
   * `keepRecentTokens`. A forced compaction keeps less than usual, which alone is no reason to split a turn.
   */
  splitsAbove?: number;
  tokens?: (message: AgentMessage) => number;
  /** Entry ids of messages that no user wrote (fragments, notices); they are not summarized. */
  fragments?: ReadonlySet<string>;
  /** Shape of these messages, when already computed. */
  shape?: ContextShape;
}

interface Context extends ContextShape {
  /** Tokens of the message and all after it. */
  suffix: number[];
  keep: number;
  splitsAbove: number;
  fragments: ReadonlySet<string>;
}

/** Whether a cut summarizes a message: not the summary, not a fragment, not the input of the split turn. */
function goesAt(context: Context, cut: number): (message: AgentMessage, index: number) => boolean {
  const { messages, summaryIndex, fragments } = context;
  const input = turnSplitAt(context, cut)?.input;
  const kept = input !== undefined && messages[input]?.entryId !== undefined ? input : undefined;
  return (message, index) =>
    index < cut && index !== summaryIndex && index !== kept && !fragments.has(message.entryId ?? "");
}

/** Number of messages that a cut removes. The input of a split turn, before the earlier summary, is no gain by itself. */
function gainOf(context: Context, cut: number): number {
  const { messages, summaryIndex } = context;
  const isInputKept = turnSplitAt(context, cut)?.input === 0;
  return messages.filter(goesAt(context, cut)).length - (summaryIndex === 1 && !isInputKept ? 1 : 0);
}

/** The oldest cut of the live turn that keeps input and tail within the share; undefined when nothing would be removed. */
function splitLive(context: Context): number | undefined {
  const { messages, liveStart, suffix, keep, cuttable, summaryIndex } = context;
  if (messages[liveStart]?.entryId === undefined) return undefined;
  const last = lastSplit(context);
  if (last === undefined) return undefined;
  const inputTokens = (suffix[liveStart] ?? 0) - (suffix[liveStart + 1] ?? 0);
  const first = Math.max(liveStart, summaryIndex) + 2;
  for (let index = first; index <= last; index += 1) {
    if (index === last) return last;
    if (cuttable[index] && inputTokens + (suffix[index] ?? 0) <= keep) return index;
  }
  return undefined;
}

/** The oldest cut inside the newest closed turn that keeps its input and its rest within `keep`. */
function splitNewest(context: Context, start: number): number | undefined {
  const { suffix, keep, cuttable, liveStart } = context;
  const input = turnSplitAt(context, start + 1)?.input;
  const inputTokens = input === undefined ? 0 : (suffix[input] ?? 0) - (suffix[input + 1] ?? 0);
  for (let index = start + 1; index < liveStart; index += 1) {
    if (cuttable[index] && inputTokens + (suffix[index] ?? 0) <= keep) return index;
  }
  return undefined;
}

/**
 * The cut outside the live turn: before the oldest turn that still fits, else before the live turn. Only when the
 * newest turn alone exceeds `keep` is it split, before its oldest round that fits.
 */
function cutBefore(context: Context): number | undefined {
  const { messages, liveStart, suffix, keep, splitsAbove, cuttable, turnStart, summaryIndex } = context;
  let newest = summaryIndex + 1;
  for (let index = newest; index < Math.min(liveStart, messages.length); index += 1) {
    // The messages after a summary may be the rest of a turn: keeping all of them is no cut at all.
    if (!cuttable[index] || !(turnStart[index] || index === summaryIndex + 1)) continue;
    if ((suffix[index] ?? 0) <= keep) return index;
    newest = index;
  }
  const before = liveStart < messages.length && cuttable[liveStart] ? liveStart : undefined;
  const turnTokens = (suffix[newest] ?? 0) - (suffix[liveStart] ?? 0);
  if (before !== undefined && turnTokens <= keep) return before;
  if (turnStart[newest] && turnTokens <= splitsAbove && gainOf(context, newest) > 0) return newest;
  const split = splitNewest(context, newest) ?? before;
  if (split !== undefined) return split;
  const last = cuttable.lastIndexOf(true, liveStart);
  return last < 0 ? undefined : last;
}

function planContext(params: PlanParams): Context {
  const { messages } = params;
  const tokens = params.tokens ?? messageTokens;
  const suffix = Array.from<number>({ length: messages.length + 1 }).fill(0);
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    suffix[index] = (suffix[index + 1] ?? 0) + (message ? tokens(message) : 0);
  }
  return {
    ...(params.shape ?? shapeOf(params)),
    suffix,
    keep: params.keepRecentTokens,
    splitsAbove: Math.max(params.keepRecentTokens, params.splitsAbove ?? 0),
    fragments: params.fragments ?? new Set(),
  };
}

/** Splits the live turn when it is too large or nothing older is left; else cuts before it. */
function cutOf(context: Context): number | undefined {
  const { messages, liveStart, suffix, keep, splitsAbove } = context;
  const older = cutBefore(context);
  const live = suffix[liveStart] ?? 0;
  if (liveStart >= messages.length || live <= keep) return older;
  const isEnough = live <= splitsAbove && older !== undefined && gainOf(context, older) > 0;
  return isEnough ? older : (splitLive(context) ?? older);
}

/**
 * Chooses the cut. Calls and results stay together. Cuts are between turns, with the summary before the input of the
 * oldest kept turn. Only the newest turn is split between its rounds, and only when it alone exceeds `splitsAbove` or
 * nothing older is left: its input stays verbatim, followed by the summary of all before it and of some of its rounds;
 * of a live turn the newest closed round and all after it stay as well. (A turn that has just ended is split like a live
 * one: the next input replies to its answer.) `reason` says why there is nothing to summarize.
 */
export function planCompaction(params: PlanParams): CompactionPlan | { reason: string } {
  const { messages } = params;
  const context = planContext(params);
  const { suffix, summaryIndex, fragments } = context;
  const wanted = cutOf(context);
  const cut = wanted === undefined ? undefined : cutOutside(context, wanted, fragments);
  const firstKept = cut === undefined ? undefined : messages[cut]?.entryId;
  if (cut === undefined || firstKept === undefined) {
    return { reason: "There is nothing to compact: the context has no message before the current turn." };
  }
  const split = turnSplitAt(context, cut);
  const inputId = split?.input === undefined ? undefined : messages[split.input]?.entryId;
  const goes = goesAt(context, cut);
  if (gainOf(context, cut) <= 0) {
    return {
      reason:
        `There is nothing to compact: the ${messages.length} messages of the context are the current turn, ` +
        `an earlier summary, or within the ${context.keep} tokens that stay verbatim.`,
    };
  }
  const summary = messages[summaryIndex];
  const previousSummary = summary && readSummary(textOf(summary));
  return {
    toSummarize: messages.filter(goes),
    splitTurnMessages: split
      ? messages.filter((m, index) => index >= split.start && goes(m, index)).length
      : 0,
    firstKeptIndex: cut,
    firstKeptEntryId: firstKept,
    tokensBefore: suffix[0] ?? 0,
    ...defined({ previousSummary, splitTurnInputId: inputId }),
  };
}
