/** How long a block of recalled passages stays: by whether people only talk, and by who holds the context. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, round } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { textOf } from "../../../packages/core/src/compaction/message-text.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { assertGrowing, Drive, type Sent } from "./drive.ts";
import { ask, blocksOf, BUDGET, CHAT, FACT, longTalk, QUESTION, user } from "./recall-talk.ts";

const OTHER_FACT = "My sister Ragnhild sails a green cutter from Molde.";
const OTHER_QUESTION = "Which cutter does my sister Ragnhild sail?";
const THIRD_FACT = "My uncle Torvald keeps nine brown goats in Stavern.";
const THIRD_QUESTION = "How many goats does my uncle Torvald keep?";
const LARGE = { budget: 30_000, config: { trigger: 5_000, recallTokens: 600 } };

/** Facts of other days than the first. */
const FACTS = new Map([
  [12, THIRD_FACT],
  [20, OTHER_FACT],
]);

async function someFacts(
  options: { budget?: number; config?: Record<string, unknown> } = {},
): Promise<Drive> {
  const drive = new Drive({ budget: BUDGET, ...options });
  await drive.turn(user(FACT), [], answer(0));
  for (let index = 1; index <= 40; index += 1)
    await drive.turn(user(FACTS.get(index) ?? `Day ${index}. ${CHAT}`), [], answer(index));
  assert.ok(drive.compactions > 0);
  return drive;
}

/** Questions one after the other, each a turn with an answer. */
async function asked(drive: Drive, ...inputs: string[]): Promise<Sent[]> {
  const sent: Sent[] = [];
  for (const input of inputs) {
    const { turnId, sent: request } = await ask(drive, input);
    sent.push(request);
    drive.append(turnId, answer(90));
    await drive.commit(turnId);
  }
  return sent;
}

test("where people only talk, the next question's block takes the place of the one before, in every window", async () => {
  for (const options of [{}, LARGE]) {
    const drive = await someFacts(options);
    try {
      const { compactions } = drive;
      const [first, second, thanks, again] = await asked(
        drive,
        QUESTION,
        OTHER_QUESTION,
        "Thank you.",
        QUESTION,
      );
      assert.ok(
        blocksOf(first as Sent)
          .join()
          .includes(FACT),
      );
      const [block = "", ...others] = blocksOf(second as Sent);
      assert.ok(block.includes(OTHER_FACT));
      assert.deepEqual(others, []);
      // An input without a block leaves it, as its prefix is in the cache.
      assert.deepEqual(blocksOf(thanks as Sent), [block]);
      assert.equal(thanks?.epoch, second?.epoch);
      assert.ok(
        blocksOf(again as Sent)
          .join()
          .includes(FACT),
      );
      // No compaction is made for it, and none is reported.
      assert.equal(drive.compactions, compactions);
      const names = [first, second, thanks, again].map((sent) => sent?.result.contextProjection?.epoch);
      assert.equal(new Set(names).size, 1);
      assertGrowing(drive.sent);
    } finally {
      await drive.end();
    }
  }
});

test("a look at the conversation by the recall tools is no work", async () => {
  const drive = await someFacts();
  try {
    const { turnId } = await ask(drive, QUESTION);
    for (const message of looked("l1")) drive.append(turnId, message);
    await drive.call(turnId);
    drive.append(turnId, answer(90));
    await drive.commit(turnId);
    for (let index = 50; index <= 80; index += 1)
      await drive.turn(user(`Day ${index}. ${CHAT}`), [], answer(index));
    const [first, second] = await asked(drive, QUESTION, OTHER_QUESTION);
    assert.ok(
      blocksOf(first as Sent)
        .join()
        .includes(FACT),
    );
    assert.ok(
      blocksOf(second as Sent)
        .join()
        .includes(OTHER_FACT),
    );
    assert.equal(blocksOf(second as Sent).length, 1);
  } finally {
    await drive.end();
  }
});

function looked(id: string): AgentMessage[] {
  const call = {
    type: "toolCall",
    id,
    name: "mcp__pagurus__context_search",
    arguments: { query: "dentist" },
  } as const;
  return [
    { role: "assistant", content: [call], stopReason: "toolUse" },
    {
      role: "toolResult",
      toolCallId: id,
      toolName: call.name,
      content: [{ type: "text", text: `entry00001 user: ${FACT}` }],
      isError: false,
    },
  ];
}

test("where work was done blocks stay until the epoch ends, and nothing is shown twice", async () => {
  const drive = new Drive({ budget: 30_000, config: { trigger: 5_000 } });
  try {
    await drive.turn(user(FACT), [round(0, 0, 1, 20)], answer(0));
    for (let index = 1; index <= 40; index += 1)
      await drive.turn(user(`Day ${index}. ${CHAT}`), [], answer(index));
    assert.ok(drive.compactions > 0);
    const [first, second] = await asked(
      drive,
      QUESTION,
      "Where does my dentist Halvorsen have her practice, again?",
    );
    assert.equal(blocksOf(first as Sent).length, 1);
    assert.deepEqual(blocksOf(second as Sent), blocksOf(first as Sent));
    assert.equal(second?.epoch, first?.epoch);
  } finally {
    await drive.end();
  }
});

test("a program's thread keeps earlier blocks of talk while a question's block fits beside them", async () => {
  const drive = await someFacts(LARGE);
  drive.harness = "codex";
  try {
    const [first, second, again] = await asked(drive, QUESTION, OTHER_QUESTION, QUESTION);
    assert.equal(second?.epoch, first?.epoch);
    assert.equal(blocksOf(second as Sent).length, 2);
    assert.deepEqual(blocksOf(again as Sent), blocksOf(second as Sent), "nothing is shown twice");
    assertGrowing(drive.sent);
    drive.budget = (again?.tokens ?? 0) + 300;
    drive.obeys = false;
    const [smaller] = await asked(drive, THIRD_QUESTION);
    assert.equal(blocksOf(smaller as Sent).length, 1);
    assert.ok(
      blocksOf(smaller as Sent)
        .join()
        .includes(THIRD_FACT),
    );
    assert.notEqual(smaller?.epoch, second?.epoch);
    assert.equal(smaller?.result.contextProjection?.epoch, smaller?.epoch, "the thread begins again");
    assertGrowing(drive.sent);
  } finally {
    await drive.end();
  }
});

test("a program's thread stays as it is where a small block fits beside the earlier ones, though a larger one would not", async () => {
  const drive = await someFacts({ ...LARGE, config: { ...LARGE.config, recallTokens: 8_000 } });
  drive.harness = "codex";
  try {
    const [first] = await asked(drive, QUESTION);
    const [before = ""] = blocksOf(first as Sent);
    const own = estimateTokens(before);
    // Enough for the two blocks, and less beside them than one question may have.
    drive.budget = (first?.tokens ?? 0) + own + 1_000;
    drive.obeys = false;
    const [second] = await asked(drive, OTHER_QUESTION);
    assert.ok(own < 4_000, `${own}`);
    assert.equal(blocksOf(second as Sent)[0], before);
    assert.ok(
      blocksOf(second as Sent)
        .join()
        .includes(OTHER_FACT),
    );
    assert.equal(second?.epoch, first?.epoch);
    assertGrowing(drive.sent);
  } finally {
    await drive.end();
  }
});

test("a question's block has at most as many tokens as are set", async () => {
  for (const recallTokens of [400, 1_500]) {
    const drive = await longTalk({ budget: 30_000, config: { trigger: 5_000, recallTokens } });
    try {
      const [sent] = await asked(
        drive,
        "What did we do along the river on the day of the weather with Halvorsen?",
      );
      const [block = ""] = blocksOf(sent as Sent);
      const tokens = estimateTokens(block);
      assert.ok(tokens <= recallTokens && tokens > recallTokens / 3, `${tokens} of ${recallTokens}`);
    } finally {
      await drive.end();
    }
  }
});

test("where people talk a head leaves their messages to passages, in a large window too", async () => {
  for (const recall of [true, false]) {
    const drive = await longTalk({ budget: 60_000, config: { trigger: 5_000, recall } });
    try {
      const head = textOf(drive.sent.at(-1)?.messages[0] as AgentMessage);
      assert.match(head, /^<conversation_summary>/);
      assert.equal(head.includes("<user_message "), !recall);
    } finally {
      await drive.end();
    }
  }
});
