/** A plan as the `session_before_compact` event tells it. Source: the event of pi, `preparation`. */
import type { SessionBeforeCompact } from "../contract/hooks.ts";
import { callRecords } from "./calls.ts";
import { filesTouched } from "./files.ts";
import type { RuntimePlan } from "./runtime-plan.ts";

type Preparation = SessionBeforeCompact["preparation"];

/**
 * The payload's `preparation`. Where a turn is split, `turnPrefixMessages` holds what is summarized of that turn
 * (its input stays, so it is in neither list) and `messagesToSummarize` what lies before it. `fileOps` covers both.
 */
export function prepareCompaction(
  plan: RuntimePlan,
  settings: { enabled: boolean; reserveTokens: number },
): Preparation {
  const { toSummarize, splitTurnMessages, firstKeptEntryId, tokensBefore, previousSummary } = plan;
  const prefixStart = toSummarize.length - splitTurnMessages;
  return {
    firstKeptEntryId,
    messagesToSummarize: toSummarize.slice(0, prefixStart),
    turnPrefixMessages: toSummarize.slice(prefixStart),
    isSplitTurn: plan.splitTurnInputId !== undefined || splitTurnMessages > 0,
    tokensBefore,
    ...(previousSummary === undefined ? {} : { previousSummary }),
    fileOps: filesTouched(callRecords(toSummarize)),
    settings: { ...settings, keepRecentTokens: plan.keepRecentTokens },
  };
}
