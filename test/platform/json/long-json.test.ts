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

test("the JSON of a long object is written in pieces between which others run", async () => {
  const items = Array.from({ length: 8 }, (_, at) => `${at}`.repeat(2 ** 19));
  let turns = 0;
  const object = { text: "a".repeat(2 ** 21), items };
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
  assert.ok(turns >= 4, `${turns} turns of the event loop`);
});
