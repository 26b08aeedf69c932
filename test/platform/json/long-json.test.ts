import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { longJson } from "../../../packages/core/src/platform/json/long-json.ts";

test("the JSON of an object is as JSON.stringify makes it", async () => {
  const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(undefined));
  const objects = fc.dictionary(fc.string(), fc.oneof(value, fc.array(value)));
  await fc.assert(
    fc.asyncProperty(objects, async (object) => {
      assert.equal((await longJson(object)).toString(), JSON.stringify(object));
    }),
    { numRuns: 300 },
  );
});

/** Turns of the event loop while an object is written; checks the result. */
async function turnsOf(object: Record<string, unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const next = (): void => {
    if (isOver) return;
    turns += 1;
    setImmediate(next);
  };
  setImmediate(next);
  const bytes = await longJson(object);
  isOver = true;
  assert.equal(bytes.toString(), JSON.stringify(object));
  return turns;
}

test("the JSON of a long object is written in pieces between which others run", async () => {
  const items = Array.from({ length: 8 }, (_, at) => `${at}`.repeat(2 ** 19));
  const turns = await turnsOf({ text: "a".repeat(2 ** 21), items });
  assert.ok(turns >= 4, `${turns} turns of the event loop`);
});

test("a long text is written in pieces wherever it is, and no pair of surrogates is cut", async () => {
  for (const text of ["a", "\u{1F980}", "b\u{1F980}", "\ud83d", "\udd80\ud83d", '"\n']) {
    const url = text.repeat((5 * 2 ** 20) / text.length);
    const turns = await turnsOf({
      messages: [{ content: [1, undefined, { url, none: undefined }] }],
      last: null,
    });
    assert.ok(turns >= 4, `${turns} turns of the event loop for ${JSON.stringify(text)}`);
  }
});
