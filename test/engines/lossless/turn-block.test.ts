/** The block of recalled passages of a turn, beside the rest of what the turn needs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { textOf } from "../../../packages/core/src/compaction/message-text.ts";
import { answer, round } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { Drive, texts, type Sent } from "./drive.ts";
import { ask, blocksOf, BUDGET, CHAT, FACT, longTalk, QUESTION, user, word } from "./recall-talk.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WINDOW = 9_000;

/** A conversation with so many short messages about the dentist that a block takes all that is free. */
async function muchToRecall(window = WINDOW): Promise<Drive> {
  const drive = new Drive({ budget: window });
  await drive.turn(user(FACT), [], answer(0));
  // Ends right after a compaction.
  for (let index = 1; index < 120 || (drive.sent.at(-1)?.tokens ?? 0) > window / 2; index += 1) {
    const talk = Array.from({ length: 40 }, (_, at) => word(300 + index * 40 + at)).join(" ");
    await drive.turn(user(`Halvorsen, ${index}. ${talk}`), [], answer(index));
  }
  return drive;
}

function blockTokens(sent: Sent): number {
  return estimateTokens(blocksOf(sent).join());
}

test("an image of the input counts before the block is made, so that the context stays within the budget", async () => {
  const drive = await muchToRecall();
  try {
    const before = drive.compactions;
    const turnId = drive.begin({
      role: "user",
      content: [
        { type: "text", text: QUESTION },
        { type: "image", data: PIXEL, mimeType: "image/png" },
      ],
    });
    const sent = await drive.call(turnId);
    assert.ok(blocksOf(sent).join().includes(FACT));
    assert.ok(sent.tokens <= WINDOW, `${sent.tokens}`);
    assert.ok(sent.tokens > WINDOW * 0.8, "else an image more would not matter");
    assert.equal(drive.compactions, before);
  } finally {
    await drive.end();
  }
});

test("in a turn that grows the block gets shorter, once for several rounds, and is not why the turn is compacted", async () => {
  const drive = await muchToRecall();
  try {
    const before = drive.compactions;
    const { turnId, sent } = await ask(drive, QUESTION);
    const calls = [sent];
    for (let index = 0; index < 8; index += 1) {
      for (const message of round(index, index, 1, 60)) drive.append(turnId, message);
      calls.push(await drive.call(turnId));
    }
    assert.equal(drive.compactions, before);
    for (const call of calls) {
      assert.ok(blocksOf(call).join().includes(FACT));
      assert.ok(call.tokens <= WINDOW, `${call.tokens}`);
    }
    const sizes = calls.map(blockTokens);
    assert.equal(new Set(sizes).size, 2, sizes.join());
    assert.ok((sizes.at(-1) ?? 0) < (sizes[0] ?? 0));
    // The name changes with the prefix, so that a program's thread begins again, and only then.
    const names = calls.map(({ epoch }) => epoch);
    assert.equal(new Set(names).size, 2, names.join());
  } finally {
    await drive.end();
  }
});

test("a compaction within the turn keeps a part of the turn's block", async () => {
  const drive = await muchToRecall();
  try {
    const { turnId, sent } = await ask(drive, QUESTION);
    const before = drive.compactions;
    for (let index = 0; drive.compactions === before; index += 1) {
      for (const message of round(index, index, 1, 600)) drive.append(turnId, message);
      await drive.call(turnId);
    }
    for (const message of round(90, 90, 1, 10)) drive.append(turnId, message);
    const last = await drive.call(turnId);
    assert.notEqual(last.epoch, sent.epoch);
    assert.ok(blocksOf(last).join().includes(FACT), texts(last.messages));
    assert.ok(blockTokens(last) < blockTokens(sent));
    assert.ok(last.tokens <= WINDOW, `${last.tokens}`);
    drive.append(turnId, answer(91));
    await drive.commit(turnId);
  } finally {
    await drive.end();
  }
});

test("a live turn that needs more of the budget has a shorter block, and the context stays within it", async () => {
  const drive = await longTalk();
  try {
    const { turnId, sent } = await ask(drive, QUESTION);
    assert.equal(blocksOf(sent).length, 1);
    drive.append(turnId, answer(90, BUDGET - sent.tokens + 200));
    drive.append(turnId, user("Go on."));
    const later = await drive.call(turnId);
    assert.ok(blocksOf(later).join().includes(FACT));
    assert.ok(blockTokens(later) < blockTokens(sent));
    assert.ok(later.tokens <= BUDGET, `${later.tokens}`);
    drive.append(turnId, answer(91, BUDGET - later.tokens + blockTokens(later) - 100));
    drive.append(turnId, user("Go on."));
    const last = await drive.call(turnId);
    assert.ok(last.tokens <= BUDGET, `${last.tokens}`);
  } finally {
    await drive.end();
  }
});

test("after a compaction within the turn the block has one place: across a restart, and in the next turn", async () => {
  const drive = await muchToRecall();
  drive.budget = 6_000;
  try {
    const { turnId } = await ask(drive, QUESTION);
    const before = drive.compactions;
    let cut = await drive.call(turnId);
    for (let index = 0; drive.compactions === before; index += 1) {
      for (const message of round(index, index, 1, 400)) drive.append(turnId, message);
      cut = await drive.call(turnId);
    }
    assert.equal(blocksOf(cut).length, 1);
    await drive.restart();
    assert.deepEqual((await drive.call(turnId)).bytes, cut.bytes);
    drive.append(turnId, answer(91));
    await drive.commit(turnId);
    const next = await ask(drive, "Thank you.");
    assert.equal(next.sent.epoch, cut.epoch);
    assert.deepEqual(next.sent.bytes.slice(0, cut.bytes.length), cut.bytes);
  } finally {
    await drive.end();
  }
});

test("a short block is kept whole by a compaction within the turn", async () => {
  const drive = new Drive({ budget: 60_000, config: { trigger: 16_000 } });
  try {
    await drive.turn(user(FACT), [], noticeOf("Done."));
    for (let index = 1; drive.compactions < 2; index += 1)
      await drive.turn(
        user(`Look after berth B${index}.`),
        [round(1_000 + index, 0, 1, 600)],
        noticeOf("Done."),
      );
    const { turnId, sent } = await ask(drive, QUESTION);
    const before = drive.compactions;
    let last = sent;
    for (let index = 0; drive.compactions === before; index += 1) {
      for (const message of round(index, index, 1, 1_500)) drive.append(turnId, message);
      last = await drive.call(turnId);
    }
    assert.notEqual(last.epoch, sent.epoch);
    assert.equal(blocksOf(sent).length, 1);
    assert.deepEqual(blocksOf(last), blocksOf(sent));
  } finally {
    await drive.end();
  }
});

test("a block that had to go is not back within the epoch when the budget grows", async () => {
  const drive = await muchToRecall(6_000);
  try {
    const { turnId } = await ask(drive, QUESTION);
    const before = drive.compactions;
    let last = await drive.call(turnId);
    for (let index = 0; blocksOf(last).length > 0 && index < 40; index += 1) {
      for (const message of round(index, index, 1, 500)) drive.append(turnId, message);
      last = await drive.call(turnId);
      // The host compacts once.
      if (drive.compactions > before) drive.obeys = false;
    }
    assert.deepEqual(blocksOf(last), []);
    drive.budget = 12_000;
    for (const message of round(90, 90, 1, 10)) drive.append(turnId, message);
    const larger = await drive.call(turnId);
    assert.equal(larger.epoch, last.epoch);
    assert.deepEqual(blocksOf(larger), []);
  } finally {
    await drive.end();
  }
});

test("a turn that has begun keeps its block when the provider's cache expires, across a restart too", async () => {
  const drive = await longTalk();
  try {
    const { turnId, sent } = await ask(drive, QUESTION);
    drive.promptCache = { expiresAt: Date.now() - 1 };
    for (const message of round(0, 0, 1, 10)) drive.append(turnId, message);
    await drive.restart();
    assert.deepEqual(blocksOf(await drive.call(turnId)), blocksOf(sent));
  } finally {
    await drive.end();
  }
});

function noticeOf(text: string): AgentMessage {
  return { role: "assistant", content: [{ type: "text", text }], stopReason: "stop" };
}

test("the words of a summary, which are those of many messages, bring no block, and no summary is in one", async () => {
  const drive = new Drive({ budget: BUDGET });
  try {
    for (let index = 0; index < 30; index += 1)
      await drive.turn(user(`We hid the ${word(index)} at place ${index}.`), [], answer(index));
    for (let index = 0; drive.compactions < 2; index += 1)
      await drive.turn(user(`Day ${index}. ${CHAT}`), [], answer(30 + index));
    const blocksFor = async (prompt: string): Promise<string[]> => {
      const params = { ...drive.params(), messages: [], prompt, tokenBudget: BUDGET };
      return blocksOf(await drive.engine.assemble(params));
    };
    for (let index = 0; index < 10; index += 1) {
      const things = [0, 7, 13, 19].map((step) => word((index + step) % 30)).join(", ");
      assert.deepEqual(await blocksFor(`Did the postman put ${things} into a barrel?`), [], things);
    }
    const [block = ""] = await blocksFor(`Where did they hide the ${word(3)}?`);
    assert.ok(block.includes(`the ${word(3)} at place 3.`));
    assert.doesNotMatch(block, /^\S+ summary/m);
  } finally {
    await drive.end();
  }
});

test("a fact that was corrected in a message in sight is marked as older than that", async () => {
  const drive = new Drive({ budget: BUDGET });
  try {
    await drive.turn(user("My dentist appointment with Halvorsen is on Tuesday."), [], answer(0));
    for (let index = 1; index <= 40; index += 1)
      await drive.turn(user(`Day ${index}. ${CHAT}`), [], answer(index));
    // Too long to be searched itself.
    await drive.turn(
      user(
        "My dentist appointment with Halvorsen is on Friday at noon now, and after it I have to buy bread, milk, apples, and some flowers for her garden.",
      ),
      [],
      answer(90),
    );
    const correction = drive.transcript.entries.findLast(
      (entry) => entry.type === "message" && textOf(entry.message as AgentMessage).includes("Friday"),
    );
    const { sent } = await ask(drive, "When is my dentist appointment with Halvorsen?");
    assert.match(
      blocksOf(sent).join(),
      new RegExp(`user \\(older than ${correction?.id}\\): My dentist appointment .* Tuesday`),
    );
  } finally {
    await drive.end();
  }
});
