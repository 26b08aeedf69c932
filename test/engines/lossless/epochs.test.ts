import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { textOf } from "../../../packages/core/src/compaction/message-text.ts";
import { readSummary } from "../../../packages/contract/src/engine/summary.ts";
import { answer, filler, input, round } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { assertGrowing, Drive, texts } from "./drive.ts";
import { byLength } from "../../runner/short-form.ts";
import { longTest } from "../../runner/long-tests.ts";

const SETTINGS = { trigger: 6_000, headTokens: 900, tailTokens: 1_500 };

const turnShape = fc.record({
  input: fc.integer({ min: 10, max: 400 }),
  rounds: fc.array(
    fc.record({ calls: fc.integer({ min: 1, max: 3 }), tokens: fc.integer({ min: 5, max: 700 }) }),
    {
      maxLength: 6,
    },
  ),
  maintain: fc.boolean(),
  restart: fc.boolean(),
  volatile: fc.boolean(),
});

/** Asserts that each epoch that a model saw is a compaction of the transcript, in order. */
function assertRecorded({ sent, transcript }: Drive): void {
  const heads = sent.flatMap(({ messages }) => {
    const head = messages.map((message) => readSummary(textOf(message))).find((text) => text !== undefined);
    return head === undefined ? [] : [head];
  });
  const seen = heads.filter((head, index) => head !== heads[index - 1]);
  const written = transcript.entries.flatMap((entry) => (entry.type === "compaction" ? [entry.summary] : []));
  assert.ok(seen.length > 1);
  assert.deepEqual(seen, written);
}

test("within an epoch each context begins with the bytes of the previous one, across restarts too", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(turnShape, { minLength: 4, maxLength: 14 }), async (shapes) => {
      const drive = new Drive({ budget: 8_000, config: SETTINGS });
      try {
        for (const [index, shape] of shapes.entries()) {
          const turnId = drive.begin(input(index, shape.input));
          if (shape.volatile) {
            const after = drive.transcript.entries.at(-1)?.id;
            drive.volatile.push({ message: { role: "user", content: `Result of child ${index}` }, after });
          }
          await drive.call(turnId);
          for (const [step, { calls, tokens }] of shape.rounds.entries()) {
            for (const message of round(index, step, calls, tokens)) drive.append(turnId, message);
            const sent = await drive.call(turnId);
            if (shape.volatile) assert.match(texts(sent.messages), new RegExp(`Result of child ${index}"`));
            const inputs = sent.messages.filter((message) =>
              texts([message]).startsWith(`["Request ${String(index).padStart(4, "0")}`),
            );
            assert.equal(inputs.length, 1);
          }
          drive.append(turnId, answer(index));
          await drive.commit(turnId);
          if (shape.maintain) await drive.maintain();
          if (shape.restart) await drive.restart();
        }
        assertGrowing(drive.sent);
      } finally {
        await drive.end();
      }
    }),
    { numRuns: byLength(60, 12, 4), endOnFailure: true },
  );
});

test("a long conversation stays within its budget and keeps every user message in the context or in summaries", async () => {
  const drive = new Drive({ budget: 8_000, config: SETTINGS });
  try {
    for (let index = 0; index < 60; index += 1) {
      await drive.turn(
        { role: "user", content: `Task ${index}: never touch file F${index}.` },
        [round(index, 0, 2, 150), round(index, 1, 1, 150)],
        answer(index, 40),
      );
      if (index % 7 === 0) await drive.maintain();
    }
    assertGrowing(drive.sent);
    const most = Math.max(...drive.sent.map(({ tokens }) => tokens));
    assert.ok(most <= 8_000, `${most} tokens`);
    const epochs = new Set(drive.sent.map(({ epoch }) => epoch));
    assert.ok(epochs.size > 3 && epochs.size < 30, `${epochs.size} epochs`);
    const last = texts(drive.sent.at(-1)?.messages ?? []);
    assert.match(last, /<conversation_summary>/);
    assert.match(last, /never touch file F59/);
    assertRecorded(drive);
  } finally {
    await drive.end();
  }
});

test("one long turn is compacted inside: input first, then the summary, then the newest rounds", async () => {
  const drive = new Drive({ budget: 8_000, config: SETTINGS });
  try {
    await drive.turn(input(0), [round(0, 0)], answer(0));
    const rounds = Array.from({ length: 80 }, (_, step) => round(1, step, 1, 200));
    await drive.turn({ role: "user", content: "Look after all berths and never stop." }, rounds, answer(1));
    assert.ok(drive.compactions > 1, `${drive.compactions} compactions`);
    assertGrowing(drive.sent);
    const last = drive.sent.at(-1)?.messages ?? [];
    assert.match(texts(last.slice(0, 1)), /never stop/);
    assert.match(texts(last.slice(1, 2)), /conversation_summary/);
    assert.match(texts(last), /call_1_79_0/);
    await drive.turn(input(2), [round(2, 0)], answer(2));
    assertGrowing(drive.sent);
    assertRecorded(drive);
    assert.ok(Math.max(...drive.sent.map(({ tokens }) => tokens)) <= 8_000);
  } finally {
    await drive.end();
  }
});

longTest("one step over the budget never drops the summarized past", async () => {
  const drive = new Drive({ budget: 40_000, config: { trigger: 20_000 } });
  try {
    for (let index = 0; index < 60; index += 1) {
      const content = `Request ${index}: berth B${index} must stay free. ${filler(300)}`;
      await drive.turn({ role: "user", content }, [round(index, 0, 1, 400)], answer(index, 300));
    }
    for (const budget of [40_000, 30_000, 20_000, 12_000, 8_000, 5_000, 3_000]) {
      drive.budget = budget;
      await drive.turn(input(1_000 + budget), [], answer(1_000 + budget, 10));
      const sent = drive.sent.at(-1);
      assert.ok(sent);
      assert.ok(sent.tokens <= budget, `${sent.tokens} of ${budget}`);
      assert.match(texts(sent.messages), /## Earlier/, String(budget));
      const covered = drive.lossless.frontier("session0001").nodeIds;
      assert.ok(covered.length > 0);
    }
  } finally {
    await drive.end();
  }
});
