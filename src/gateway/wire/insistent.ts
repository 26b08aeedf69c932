import type { CompactionQuestion } from "../../contract/harness.ts";

type Answer = { summary: string } | undefined;

/**
 * An engine that owns compaction may see no need for one at a threshold that is the harness's. The harness compacts all the same,
 * with more of the conversation than the model is ever sent, so the engine is asked as for a context that does not fit.
 */
export async function insistent<Q extends CompactionQuestion>(
  question: Q,
  ownsCompaction: boolean,
  ask: (question: Q) => Promise<Answer>,
): Promise<Answer> {
  const answer = await ask(question);
  if (answer || !ownsCompaction || question.trigger !== "threshold") return answer;
  return ask({ ...question, trigger: "overflow" });
}
