import assert from "node:assert/strict";
import { test } from "node:test";
import { keepingRecent } from "../../packages/core/src/data/recent-texts.ts";

test("a text is computed once while it is among the last that were used", () => {
  const computed: string[] = [];
  const lengthOf = keepingRecent((text) => computed.push(text) && text.length, 2);
  assert.deepEqual(["a", "bb", "a", "ccc", "a", "bb"].map(lengthOf), [1, 2, 1, 3, 1, 2]);
  assert.deepEqual(computed, ["a", "bb", "ccc", "bb"]);
});
