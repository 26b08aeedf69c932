/**
 * A harness's compaction of its own history, offered to the engine before the harness calls its model: inside a turn, and between turns of
 * a session that follows a program of the user's own. The transcript stays whole, and what the engine stores of its answer is its own
 * concern. Source: interceptCompaction specification; the design's "The model gateway", rule 4.
 */
import { compactionSettings } from "@pagurus/core/compaction/compaction-settings";
import type { AgentMessage } from "@pagurus/contract/message";
import type { CompactionQuestion } from "@pagurus/contract/harness/native-compaction";
import { renderSummary } from "@pagurus/contract/engine/summary";
import { isFragment } from "../fragments/fragment-place.ts";
import { NATIVE_COMPACTION_ENTRY } from "../record/native-compactions.ts";
import { Announcement } from "./announce.ts";
import { intercept } from "./interception.ts";
import { compactionDeadline, contextTokens, type LaneFacts, type LaneScope } from "./lane-scope.ts";

/** A summary up to this size, tokens, is accepted even when the conversation is shorter: a harness counts more than the conversation. */
const NO_BURDEN = 2_000;

export interface OuterAnswer {
  summary: string;
}

/** State of the context when a harness is about to compact it. */
export interface OuterCut {
  messages: readonly AgentMessage[];
  /** Index of the first message that is assumed to stay. */
  keptFrom: number;
  firstKeptEntryId: string;
}

export type Note = (customType: string, data: Record<string, unknown>) => void;

/** Offers the part to be dropped to the engine's `interceptCompaction()`; undefined if it gives no summary that can be taken. */
export async function askEngine(
  scope: LaneScope,
  question: CompactionQuestion,
  cut: OuterCut,
  note: Note,
): Promise<OuterAnswer | undefined> {
  const { engine, guard, host, harness } = scope;
  const { trigger } = question;
  const { messages, keptFrom, firstKeptEntryId } = cut;
  const dropped = messages.slice(0, keptFrom).filter((message) => !isFragment(message));
  if (dropped.length === 0) return undefined;
  const total = contextTokens(scope, messages);
  const tokensBefore = question.tokensBefore ?? total;
  const facts: LaneFacts = { lane: "harness", trigger, backend: harness.id };
  const answer = await intercept(scope, {
    facts,
    firstKeptEntryId,
    tokensBefore,
    messages: dropped,
    customInstructions: question.customInstructions ?? compactionSettings(host.config).customInstructions,
    deadlineMs: compactionDeadline(scope),
  });
  if (!answer || scope.signal.aborted) return undefined;
  const { summary } = answer;
  const head: AgentMessage = { role: "user", content: renderSummary(summary) };
  if (contextTokens(scope, [head]) >= Math.max(total, NO_BURDEN)) {
    guard.degrade("intercept", `the summary of ${engine.info.id} was not taken: it makes nothing smaller`);
    return undefined;
  }
  // An engine may keep more or less than the request proposed.
  const named = messages.findIndex(({ entryId }) => entryId === answer.firstKeptEntryId);
  const kept = messages.slice(named < 0 ? keptFrom : named);
  const tokensAfter = contextTokens(scope, [head, ...kept]);
  const handledBy = engine.info.id;
  note(NATIVE_COMPACTION_ENTRY, { trigger, handledBy, tokensBefore, tokensAfter });
  const announcement = await Announcement.begin(scope, facts, tokensBefore);
  await announcement.completed({ tokensBefore, tokensAfter, handledBy });
  return { summary };
}
