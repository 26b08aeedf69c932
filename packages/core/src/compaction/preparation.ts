/** Converts a plan to the payload of the `session_before_compact` event. Source: pi's event, `preparation`. */
import type { SessionBeforeCompact } from "@pagurus/contract/host/hook-parts";
import { callRecords } from "./summary/calls.ts";
import { filesTouched } from "./summary/touched-files.ts";
import type { RuntimePlan } from "./runtime-plan.ts";
import { defined } from "../data/defined.ts";

type Preparation = SessionBeforeCompact["preparation"];

/**
 * The payload's `preparation`. When a turn is split, `turnPrefixMessages` has its summarized messages (its input stays,
 * so it is in neither list) and `messagesToSummarize` those before it. `fileOps` covers both.
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
    ...defined({ previousSummary }),
    fileOps: filesTouched(callRecords(toSummarize)),
    settings: { ...settings, keepRecentTokens: plan.keepRecentTokens },
  };
}
