import assert from "node:assert/strict";
import { test } from "node:test";
import type { LlmComplete } from "../../../packages/contract/src/model.ts";
import { answer, input, round } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { Drive } from "./drive.ts";

test("the prompt names the kind of its source: messages, summaries, or summaries of summaries", async () => {
  const asked: string[] = [];
  const llm: LlmComplete = (request) => {
    asked.push(JSON.stringify(request));
    return Promise.reject(new Error("503"));
  };
  const drive = new Drive({ budget: 8_000, config: { trigger: 8_000, summariesPerHour: 10_000 }, llm });
  const kinds = (): [number, number, number] => {
    const condensed = asked.filter((text) => text.includes("summaries of consecutive parts"));
    const deep = condensed.filter((text) => text.includes("summaries of summaries"));
    return [asked.length - condensed.length, condensed.length - deep.length, deep.length];
  };
  try {
    for (let index = 0; index < 400 && kinds().includes(0); index += 1) {
      await drive.turn(input(index), [round(index, 0, 2, 150)], answer(index, 40));
      if (index % 10 === 9) {
        // Each debt is tried once: an earlier failure must not delay it.
        for (const debt of drive.lossless.debts({ sessionId: "session0001" })) {
          if (debt.attempts > 0) drive.lossless.settleDebt(debt.debtId);
        }
        await drive.maintain();
      }
    }
    assert.ok(
      !kinds().includes(0),
      `asked with words, summaries, and summaries of summaries: ${kinds().join()}`,
    );
  } finally {
    await drive.end();
  }
});
