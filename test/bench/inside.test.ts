import assert from "node:assert/strict";
import { it } from "node:test";
import { run } from "../../bench/inside/bench.ts";
import { assertFigures } from "./figures.ts";

it("measures what an adapter waits for, each row with a time", { timeout: 120_000 }, async () => {
  const rows = await run({ quick: true, log: () => undefined });
  assertFigures(rows);
  assert.ok(rows.length > 0 && rows.every(({ unit }) => unit === "ms CPU"));
  assert.equal(rows.filter(({ target }) => target !== undefined).length, 2);
});
