import assert from "node:assert/strict";
import { test } from "node:test";
import { generatedTalk } from "../../../bench/context/recall/generated-talk.ts";
import { inARowRows } from "../../../bench/context/recall/in-a-row-rows.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";

test("a generated conversation is the same for the same seed, and has the evidence of each question once", () => {
  const talk = generatedTalk(3, 6_000);
  assert.deepEqual(generatedTalk(3, 6_000), talk);
  assert.notDeepEqual(generatedTalk(4, 6_000).messages, talk.messages);
  const texts = talk.messages.map(textOfMessage);
  assert.ok(talk.questions.length > 10, `${talk.questions.length} questions`);
  for (const { gold } of talk.questions)
    for (const text of gold) assert.equal(texts.filter((each) => each.includes(text)).length, 1, text);
});

test("the sixth question of a generated conversation has as much evidence in its request as the first, for little more", async () => {
  const rows = await inARowRows({ quick: true, log: () => undefined });
  assert.ok(rows.filter(({ target }) => target !== undefined).length >= 3 * 8);
  const missed = rows.filter(({ ok }) => ok === false);
  assert.deepEqual(missed, []);
});
