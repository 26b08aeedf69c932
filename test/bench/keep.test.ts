import assert from "node:assert/strict";
import { test } from "node:test";
import { run } from "../../bench/keep/bench.ts";
import { assertFigures } from "./figures.ts";

test("the benchmark of the keeper measures the first look, idling, a new line, the search and the size", async () => {
  const rows = await run({ quick: true, log: () => undefined });
  assert.equal(rows.length, 8);
  assertFigures(rows);
  // The tables of an empty index weigh more than a few conversations: the bound is that of the full form.
  assert.equal(rows.filter(({ target }) => target !== undefined).length, 6);
});
