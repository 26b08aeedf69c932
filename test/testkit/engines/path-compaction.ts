/** Compaction of the host's own path: a plan and a summary. */
import type {
  CompactParams,
  CompactResult,
} from "../../../packages/contract/src/engine/engine-compaction.ts";
import { renderSummary } from "../../../packages/contract/src/engine/summary.ts";
import { messageOf, planPath, type PathPlan } from "./path-plan.ts";
import { writeSummary, type Summary } from "./summary.ts";

/** Share of the budget that stays verbatim. */
const KEEP_SHARE = 0.25;

export interface PathCompaction {
  plan: PathPlan;
  summary: Summary;
  tokensAfter: number;
}

/** A planned compaction, or the answer that there is none. Throws `turn_aborted`. */
export async function compactPath(params: CompactParams): Promise<PathCompaction | CompactResult> {
  const context = params.runtimeContext;
  if (!context)
    return { ok: false, compacted: false, reason: "There is no runtimeContext to read the session with." };
  const keepTokens = (params.tokenBudget ?? context.tokenBudget) * KEEP_SHARE;
  const plan = await planPath(context, keepTokens);
  if (typeof plan === "string") return { ok: true, compacted: false, reason: plan };
  const summary = await writeSummary({
    messages: plan.summarized,
    previous: plan.previous,
    focus: params.customInstructions,
    signal: params.abortSignal,
    // The offline model cannot write one.
    llm: context.provider === "offline" ? undefined : context.llm.complete,
  });
  const kept = plan.kept.filter((entry) => entry.type === "message").map(messageOf);
  const input = plan.splitInput ? [messageOf(plan.splitInput)] : [];
  const head = { role: "user" as const, content: renderSummary(summary.text) };
  const tokensAfter = context.tokens([...input, head, ...kept]);
  if (tokensAfter < plan.tokensBefore) return { plan, summary, tokensAfter };
  return { ok: true, compacted: false, reason: "The summary would not be smaller than what it stands for." };
}
