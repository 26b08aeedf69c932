import assert from "node:assert/strict";
import { it } from "node:test";
import { run } from "../../bench/inside/bench.ts";

it("measures what an adapter waits for, each row with a time", { timeout: 120_000 }, async () => {
  const rows = await run({ quick: true, log: () => undefined });
  assert.deepEqual(
    rows.map(({ unit, value }) => [unit, value > 0]),
    rows.map(() => ["ms CPU", true]),
  );
  assert.equal(rows.filter(({ target }) => target !== undefined).length, 2);
});
