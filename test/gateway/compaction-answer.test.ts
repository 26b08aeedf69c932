import assert from "node:assert/strict";
import { test } from "node:test";
import type { CompactionQuestion } from "../../packages/contract/src/harness/harness.ts";
import { compactionAnswer } from "../../packages/gateway/src/governor/compaction-answer.ts";

const CASES: [trigger: CompactionQuestion["trigger"], owns: boolean, answers: boolean[], asked: string[]][] =
  [
    ["threshold", true, [true], ["threshold"]],
    ["threshold", true, [false, true], ["threshold", "overflow"]],
    ["threshold", true, [false, false], ["threshold", "overflow"]],
    ["threshold", false, [false], ["threshold"]],
    ["manual", true, [false], ["manual"]],
  ];

for (const [trigger, owns, answers, asked] of CASES)
  test(`a compaction (${trigger}) asks the engine for ${asked.join(" and ")} if the engine ${owns ? "owns" : "does not own"} it and answers ${answers.join(", ")}`, async () => {
    const received: string[] = [];
    const answer = await compactionAnswer({ trigger }, owns, async (question) => {
      received.push(question.trigger);
      return answers[received.length - 1] === true ? { summary: "S" } : undefined;
    });
    assert.deepEqual(received, asked);
    assert.equal(answer?.summary, answers.at(-1) === true ? "S" : undefined);
  });
