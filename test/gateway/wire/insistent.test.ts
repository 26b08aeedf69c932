import assert from "node:assert/strict";
import { test } from "node:test";
import type { CompactionQuestion } from "../../../src/contract/harness.ts";
import { insistent } from "../../../src/gateway/wire/insistent.ts";

const CASES: [trigger: CompactionQuestion["trigger"], owns: boolean, answers: boolean[], asked: string[]][] =
  [
    ["threshold", true, [true], ["threshold"]],
    ["threshold", true, [false, true], ["threshold", "overflow"]],
    ["threshold", true, [false, false], ["threshold", "overflow"]],
    ["threshold", false, [false], ["threshold"]],
    ["manual", true, [false], ["manual"]],
  ];

for (const [trigger, owns, answers, asked] of CASES)
  test(`a compaction (${trigger}) is asked for as ${asked.join(" and ")} where the engine ${owns ? "owns" : "does not own"} it and answers ${answers.join(", ")}`, async () => {
    const heard: string[] = [];
    const answer = await insistent({ trigger }, owns, async (question) => {
      heard.push(question.trigger);
      return answers[heard.length - 1] === true ? { summary: "S" } : undefined;
    });
    assert.deepEqual(heard, asked);
    assert.equal(answer?.summary, answers.at(-1) === true ? "S" : undefined);
  });
