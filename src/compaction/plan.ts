/** Where a compaction cuts: what is summarized and what stays verbatim. Pure. */
import type { AgentMessage } from "../contract/message.ts";
import { readSummary } from "../contract/summary.ts";
import { messageTokens } from "../tokens/messages.ts";
import { lastSplit, shapeOf, turnSplitAt, type ContextShape } from "./cut-points.ts";
import { textOf } from "./message-text.ts";

export interface CompactionPlan {
  /** Oldest first; without the previous summary, fragments and the input of a turn that is split. */
  toSummarize: AgentMessage[];
  /** How many of `toSummarize`, the last ones, belong to the turn that is split; 0 when none is. */
  splitTurnMessages: number;
  previousSummary?: string;
  /** Index into the messages given. All from here on stays verbatim. */
  firstKeptIndex: number;
  firstKeptEntryId: string;
  /** Set when a turn is cut: the entry of its input, which stays verbatim before the summary. */
  splitTurnInputId?: string;
  /** Of all messages given. */
  tokensBefore: number;
}

interface PlanParams {
  /** A context as the store gives it: maybe a summary first (or right after a split turn's input). */
  messages: readonly AgentMessage[];
  /** Index of the live turn's input; `messages.length` where there is none. */
  liveStart: number;
  keepRecentTokens: number;
  tokens?: (message: AgentMessage) => number;
  /** Entry ids of messages that no user wrote (fragments, notices); they are not summarized. */
  fragments?: ReadonlySet<string>;
  /** Of these messages, where it is known already. */
  shape?: ContextShape;
}

interface Context extends ContextShape {
  /** Tokens of the message and all after it. */
  suffix: number[];
  keep: number;
}

/** The oldest cut of the live turn that keeps input and tail within the share; undefined when nothing would go. */
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

/** The oldest cut of the newest closed turn, which alone exceeds what is kept, that keeps input and rest within it. */
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
 * The cut outside the live turn: before the oldest turn that still fits, else before the live turn. Only a newest
 * turn that alone exceeds what is kept is cut inside, before its oldest round that fits.
 */
function cutBefore(context: Context): number | undefined {
  const { messages, liveStart, suffix, keep, cuttable, turnStart, summaryIndex } = context;
  let newest = summaryIndex + 1;
  for (let index = newest; index < Math.min(liveStart, messages.length); index += 1) {
    // What follows a summary may be the rest of a turn: keeping all of it is no cut at all.
    if (!cuttable[index] || !(turnStart[index] || index === summaryIndex + 1)) continue;
    if ((suffix[index] ?? 0) <= keep) return index;
    newest = index;
  }
  const before = liveStart < messages.length && cuttable[liveStart] ? liveStart : undefined;
  const turnTokens = (suffix[newest] ?? 0) - (suffix[liveStart] ?? 0);
  if (before !== undefined && turnTokens <= keep) return before;
  const split = splitNewest(context, newest) ?? before;
  if (split !== undefined) return split;
  const last = cuttable.lastIndexOf(true, liveStart);
  return last < 0 ? undefined : last;
}

function contextOf(params: PlanParams): Context {
  const { messages } = params;
  const tokens = params.tokens ?? messageTokens;
  const suffix = Array.from<number>({ length: messages.length + 1 }).fill(0);
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    suffix[index] = (suffix[index + 1] ?? 0) + (message ? tokens(message) : 0);
  }
  return { ...(params.shape ?? shapeOf(params)), suffix, keep: params.keepRecentTokens };
}

/**
 * Chooses the cut. Calls and results stay together; cuts fall between turns. Only the newest turn, and only when it
 * alone exceeds `keepRecentTokens`, is cut inside, between its rounds: its input stays verbatim, the summary stands
 * behind it, and of a live turn the newest closed round and all after it stay as well. (A turn that has just ended
 * is split like a live one, or its answer would go, to which the next input replies.) `reason` says why there is
 * nothing to summarize.
 */
export function planCompaction(params: PlanParams): CompactionPlan | { reason: string } {
  const { messages, liveStart, fragments } = params;
  const context = contextOf(params);
  const { suffix, summaryIndex } = context;
  const tooLarge = (suffix[liveStart] ?? 0) > context.keep;
  const cut =
    (liveStart < messages.length && tooLarge ? splitLive(context) : undefined) ?? cutBefore(context);
  const firstKept = cut === undefined ? undefined : messages[cut]?.entryId;
  if (cut === undefined || firstKept === undefined) {
    return { reason: "There is nothing to compact: the context has no message before the current turn." };
  }
  const split = turnSplitAt(context, cut);
  const input = split?.input === undefined ? undefined : messages[split.input];
  const inputId = input?.entryId;
  const goes = (message: AgentMessage, index: number): boolean =>
    index < cut &&
    index !== summaryIndex &&
    (index !== split?.input || inputId === undefined) &&
    !fragments?.has(message.entryId ?? "");
  const toSummarize = messages.filter(goes);
  // What stands before a previous summary is the input of a turn that was split: it alone is no gain.
  const gained = toSummarize.length - (summaryIndex === 1 && split?.input !== 0 ? 1 : 0);
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
    splitTurnMessages: split
      ? messages.filter((m, index) => index >= split.start && goes(m, index)).length
      : 0,
    firstKeptIndex: cut,
    firstKeptEntryId: firstKept,
    tokensBefore: suffix[0] ?? 0,
    ...(previousSummary === undefined ? {} : { previousSummary }),
    ...(inputId === undefined ? {} : { splitTurnInputId: inputId }),
  };
}
