import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, input, round } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { assertGrowing, Drive, texts } from "./drive.ts";

const SESSION = "session0001";
const SETTINGS = { trigger: 8_000, headTokens: 1_200, tailTokens: 1_500 };

async function talk(drive: Drive, turns: number, from = 0): Promise<void> {
  for (let index = from; index < from + turns; index += 1)
    await drive.turn(input(index, 40), [round(index, 0, 1, 300)], answer(index, 60));
}

test("nothing is added before the system prompt, which stays cached; the head itself names the recall tools", async () => {
  const drive = new Drive({ budget: 10_000, config: SETTINGS });
  try {
    await talk(drive, 28);
    assert.ok(drive.sent.every(({ result }) => result.systemPromptAddition === undefined));
    assert.match(texts(drive.sent.at(-1)?.messages ?? []), /context_search/);
  } finally {
    await drive.end();
  }
});

test("the memory section is always added before the system prompt", async () => {
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

test("assembling outside a turn, also with a small budget, changes nothing", async () => {
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
    assert.ok((seen.estimatedTokens ?? Infinity) <= 3_000, `${seen.estimatedTokens} tokens`);
    assert.match(texts(seen.messages), /conversation_summary/);
    assert.equal(drive.lossless.frontier(SESSION).version, version);
    await talk(drive, 1, 12);
    assertGrowing(drive.sent);
  } finally {
    await drive.end();
  }
});

test("a live turn above the trigger but below the budget is compacted by the host, at the engine's request", async () => {
  const drive = new Drive({ budget: 30_000, config: SETTINGS });
  try {
    await talk(drive, 2);
    const turnId = drive.begin(input(9));
    for (let step = 0; step < 60; step += 1) {
      for (const message of round(9, step, 1, 200)) drive.append(turnId, message);
      const { tokens, messages } = await drive.call(turnId);
      assert.ok(tokens <= 8_000, `${tokens} tokens`);
      assert.match(texts(messages), /Request 0009/);
    }
    assert.ok(drive.compactions > 1 && drive.compactions < 10, `${drive.compactions} compactions`);
    assertGrowing(drive.sent);
  } finally {
    await drive.end();
  }
});

test("a volatile message after the summary of a split turn keeps its place in the next turns", async () => {
  const drive = new Drive({ budget: 9_200, config: SETTINGS });
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
