/** Where people only talk, the newest messages out of sight where a question finds nothing. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { textOf } from "../../../packages/core/src/compaction/message-text.ts";
import { dataPart } from "../../../packages/contract/src/input-data.ts";
import { answer, round } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { assertGrowing, Drive, texts, type Sent } from "./drive.ts";
import { ask, blocksOf, BUDGET, CHAT, FACT, longTalk, QUESTION, user } from "./recall-talk.ts";

const VAGUE = "What do you think of it?";

function earlierOf({ messages }: Pick<Sent, "messages">): string[] {
  return messages.map((message) => textOf(message)).filter((text) => text.startsWith("<earlier_messages>\n"));
}

/** The days in a text. */
function days(text: string): number[] {
  return [...text.matchAll(/Day (\d+)\./g)].map(([, day]) => Number(day));
}

async function withTalk(work: (drive: Drive) => Promise<void>, options = {}): Promise<void> {
  const drive = await longTalk(options);
  try {
    await work(drive);
  } finally {
    await drive.end();
  }
}

async function answered(drive: Drive, prompt: string): Promise<Sent> {
  const { turnId, sent } = await ask(drive, prompt);
  drive.append(turnId, answer(90));
  await drive.commit(turnId);
  return sent;
}

describe("earlier messages", () => {
  it("are those before the kept ones, in their order, beside a question that finds nothing", () =>
    withTalk(async (drive) => {
      const { sent } = await ask(drive, VAGUE);
      const [earlier = "", ...others] = earlierOf(sent);
      assert.deepEqual([blocksOf(sent), others], [[], []]);
      const kept = sent.messages.map((message) => textOf(message)).find((text) => text.startsWith("Day "));
      const [first = 0] = days(kept ?? "");
      const shown = days(earlier);
      assert.ok(shown.length > 10, `${shown.length} messages`);
      assert.deepEqual(
        shown,
        shown.map((_, index) => first - shown.length + index),
      );
      assert.match(earlier, /^\(2026-01-01\)\nentry\d+ (?:user|assistant): /m);
      assert.ok(sent.tokens <= BUDGET);
    }));

  it("stay in later turns while they fit, and are replaced by passages for any input", async () => {
    for (const input of [QUESTION, "My dentist Halvorsen has moved her practice from the old tannery."])
      await withTalk(async (drive) => {
        const sent = await answered(drive, VAGUE);
        const thanks = await answered(drive, "Thank you.");
        assert.deepEqual(earlierOf(thanks), earlierOf(sent));
        assert.equal(thanks.epoch, sent.epoch);
        const next = await answered(drive, input);
        assert.deepEqual(earlierOf(next), [], input);
        assert.equal(blocksOf(next).length, 1, input);
        assert.notEqual(next.epoch, thanks.epoch);
        assert.ok(next.tokens <= BUDGET);
        assertGrowing(drive.sent);
      });
  });

  it("are no reason for a compaction, in a turn that grows either", () =>
    withTalk(async (drive) => {
      await answered(drive, VAGUE);
      const { compactions } = drive;
      const { turnId, sent } = await ask(drive, "Look after it.");
      assert.equal(earlierOf(sent).length, 1);
      for (let step = 0; step < 8; step += 1) {
        for (const message of round(step, 0, 1, 200)) drive.append(turnId, message);
        const next = await drive.call(turnId);
        assert.ok(next.tokens <= BUDGET);
      }
      assert.deepEqual(earlierOf(drive.sent.at(-1) as Sent), []);
      assert.equal(drive.compactions, compactions);
      assertGrowing(drive.sent);
    }));

  it("keep no passages out of a larger window", () =>
    withTalk(async (drive) => {
      await answered(drive, VAGUE);
      drive.budget = 40_000;
      const { sent } = await ask(drive, QUESTION);
      assert.equal(blocksOf(sent).length, 1);
    }));

  it("leave out what the head shows, and what is no text", () =>
    withTalk(async (drive) => {
      const table = dataPart({ path: "berths.csv" }, "berth;free\nB17;yes");
      const content = [{ type: "text" as const, text: "Keep this table." }, table];
      await drive.turn({ role: "user", content }, [], answer(60));
      const data = "R0lGODlhAQABAAAAACw=".repeat(200);
      await drive.turn(
        { role: "user", content: [{ type: "image", data, mimeType: "image/gif" }] },
        [],
        answer(61),
      );
      for (let index = 41; index <= 60; index += 1)
        await drive.turn(user(`Day ${index}. ${CHAT}`), [], answer(index));
      const { sent } = await ask(drive, VAGUE);
      const [earlier = ""] = earlierOf(sent);
      assert.ok(days(earlier).length > 10, `${days(earlier).length} messages`);
      assert.equal(texts(sent.messages).split("B17;yes").length, 2);
    }));

  it("are within the budget whatever is escaped in them, and cut where they are long", async () => {
    for (const text of [
      "<instructions".repeat(70),
      "Current user request:\n".repeat(60),
      "abc ".repeat(3_000),
    ]) {
      const drive = new Drive({ budget: BUDGET });
      try {
        for (let index = 0; index < 60; index += 1)
          await drive.turn(user(index % 4 === 0 ? text : `Day ${index}. ${CHAT}`), [], answer(index));
        const { sent } = await ask(drive, VAGUE);
        assert.equal(earlierOf(sent).length, 1);
        assert.ok(sent.tokens <= BUDGET, `${sent.tokens} tokens`);
      } finally {
        await drive.end();
      }
    }
  });

  it("are as many as are set in a large window", () =>
    withTalk(
      async (drive) => {
        const [earlier = ""] = earlierOf((await ask(drive, VAGUE)).sent);
        const tokens = estimateTokens(earlier);
        assert.ok(tokens > 1_000 && tokens <= 1_500, `${tokens} tokens`);
      },
      { budget: 30_000, config: { trigger: 5_000, recallTokens: 1_500 } },
    ));

  it("are not where work was done or nothing is asked", async () => {
    await withTalk(async (drive) => {
      assert.deepEqual(earlierOf((await ask(drive, "The soup is good.")).sent), []);
    });
    const worked = new Drive({ budget: BUDGET });
    try {
      await worked.turn(user(FACT), [round(0, 0, 1, 20)], answer(0));
      for (let index = 1; index <= 40; index += 1)
        await worked.turn(user(`Day ${index}. ${CHAT}`), [], answer(index));
      assert.ok(worked.compactions > 0);
      assert.deepEqual(earlierOf((await ask(worked, VAGUE)).sent), []);
    } finally {
      await worked.end();
    }
  });
});
