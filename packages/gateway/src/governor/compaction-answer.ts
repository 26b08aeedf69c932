import type { CompactionQuestion } from "@pagurus/contract/harness/harness";

type Answer = { summary: string } | undefined;

/**
 * Asks the engine for a compaction, and if it declines at the harness's threshold, again as for an overflow. An engine that owns
 * compaction may not need one at that threshold, but the harness compacts anyway, with more of the conversation than the model is
 * ever sent.
 */
export async function compactionAnswer<Q extends CompactionQuestion>(
  question: Q,
  ownsCompaction: boolean,
  ask: (question: Q) => Promise<Answer>,
): Promise<Answer> {
  const answer = await ask(question);
  if (answer || !ownsCompaction || question.trigger !== "threshold") return answer;
  return ask({ ...question, trigger: "overflow" });
}
