import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, input, round } from "../../../src/testkit/engine/conversation.ts";
import { assertGrowing, Drive, texts } from "./drive.ts";

const SESSION = "session0001";
const SETTINGS = { trigger: 8_000, headTokens: 1_200, tailTokens: 1_500 };

async function talk(drive: Drive, turns: number, from = 0): Promise<void> {
  for (let index = from; index < from + turns; index += 1)
    await drive.turn(input(index, 40), [round(index, 0, 1, 300)], answer(index, 60));
}

test("nothing stands before the system prompt while nothing is compacted, at most 600 characters afterwards", async () => {
  const drive = new Drive({ budget: 10_000, config: SETTINGS });
  try {
    await talk(drive, 3);
    assert.ok(drive.sent.every(({ result }) => result.systemPromptAddition === undefined));
    await talk(drive, 25, 3);
    const addition = drive.sent.at(-1)?.result.systemPromptAddition ?? "";
    assert.match(addition, /context_search/);
    assert.ok(addition.length <= 600);
  } finally {
    await drive.end();
  }
});

test("the memory section stands there always", async () => {
  const memorySection = (): string => "Memory: the gate is blue.";
  const drive = new Drive({ budget: 10_000, config: SETTINGS, engine: { memorySection } });
  try {
    await talk(drive, 25);
    assert.ok(
      drive.sent.every(({ result }) => result.systemPromptAddition?.startsWith("Memory: the gate is blue.")),
    );
  } finally {
    await drive.end();
  }
});

test("a look at the context outside a turn, also with a small budget, changes nothing", async () => {
  const drive = new Drive({ budget: 10_000, config: SETTINGS });
  try {
    await talk(drive, 12);
    const { version } = drive.lossless.frontier(SESSION);
    const seen = await drive.engine.assemble({
      ...drive.params(),
      messages: [],
      prompt: "look",
      tokenBudget: 3_000,
    });
    assert.ok(seen.estimatedTokens <= 3_000, `${seen.estimatedTokens} tokens`);
    assert.match(texts(seen.messages), /conversation_summary/);
    assert.equal(drive.lossless.frontier(SESSION).version, version);
    await talk(drive, 1, 12);
    assertGrowing(drive.sent);
  } finally {
    await drive.end();
  }
});

test("a live turn that has outgrown the trigger below the budget asks the host for a compaction", async () => {
  const drive = new Drive({ budget: 30_000, config: SETTINGS });
  try {
    await talk(drive, 2);
    const turnId = drive.begin(input(9));
    for (let step = 0; step < 40; step += 1) {
      for (const message of round(9, step, 1, 200)) drive.append(turnId, message);
      const { result, tokens } = await drive.call(turnId);
      const { wantsCompaction } = result as { wantsCompaction?: boolean };
      assert.equal(wantsCompaction ?? false, tokens > 8_000 && tokens <= 30_000, `${tokens} tokens`);
    }
  } finally {
    await drive.end();
  }
});

test("a volatile message behind the summary of a split turn keeps its place in the next turns", async () => {
  const drive = new Drive({ budget: 8_000, config: SETTINGS });
  try {
    const turnId = drive.begin(input(0));
    for (let step = 0; step < 60; step += 1) {
      for (const message of round(0, step, 1, 200)) drive.append(turnId, message);
      if (step === 3)
        drive.volatile.push({
          message: { role: "user", content: "Result of the child" },
          after: drive.transcript.entries.at(-1)?.id,
        });
      assert.equal(
        step < 3 || texts((await drive.call(turnId)).messages).includes("Result of the child"),
        true,
      );
    }
    assert.ok(drive.compactions > 1);
    drive.append(turnId, answer(0));
    await drive.commit(turnId);
    await talk(drive, 2, 1);
    assertGrowing(drive.sent);
    assert.match(texts(drive.sent.at(-1)?.messages ?? []), /Result of the child/);
  } finally {
    await drive.end();
  }
});
