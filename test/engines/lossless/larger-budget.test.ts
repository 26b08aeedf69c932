/** Previews of one conversation at many budgets: a larger budget never shows less. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { conversationSets } from "../../../bench/context/recall/conversations.ts";
import { generatedTalk } from "../../../bench/context/recall/generated-talk.ts";
import { shareOf, type RecallCase } from "../../../bench/context/recall/measure.ts";
import { losslessPreview } from "../../../bench/context/recall/preview.ts";
import { byLength, FULL } from "../../runner/short-form.ts";

const BUDGETS = [
  2_000, 2_500, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000, 12_000, 16_000, 19_000, 20_000, 20_001, 21_000,
  24_000, 28_000, 32_000, 40_000, 50_000, 64_000, 80_000, 100_000, 128_000, 160_000, 200_000,
];
const QUESTIONS = 3;

/** Budgets at which a question has less evidence in sight, or fewer messages, than at the one before. */
async function losses({ name, messages, questions }: RecallCase): Promise<string[]> {
  const preview = losslessPreview();
  const found: string[] = [];
  try {
    await preview.index(messages);
    const asked = questions.filter((_, index) => index % Math.ceil(questions.length / QUESTIONS) === 0);
    for (const { text, gold } of asked) {
      let before = { evidence: 0, budget: 0 };
      for (const budget of BUDGETS) {
        const [{ text: shown } = { text: "" }] = await preview.recall(text, budget);
        const evidence = shareOf(gold, shown);
        if (evidence < before.evidence)
          found.push(`${name}, ${text}: ${before.evidence} at ${before.budget}, ${evidence} at ${budget}`);
        before = { evidence, budget };
      }
    }
  } finally {
    await preview.close?.();
  }
  return found;
}

test("a larger budget never shows less evidence for a question, from 2,000 to 200,000 tokens", async () => {
  for (let seed = 1; seed <= byLength(100, 4, 2); seed += 1)
    assert.deepEqual(await losses(generatedTalk(seed, 6_000 * (1 + (seed % 8)))), []);
});

test("the same for conversations of people, where their files are named", async () => {
  if (!FULL) return;
  for (const { cases } of conversationSets("reporting"))
    for (const asked of cases) assert.deepEqual(await losses(asked), []);
});
