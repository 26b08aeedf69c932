import assert from "node:assert/strict";
import { run } from "../../bench/start/bench.ts";
import { longTest } from "../runner/long-tests.ts";
import { assertFigures } from "./figures.ts";

longTest("each kind of start has its processor time, memory and time to the first byte", async () => {
  const rows = await run({ quick: true, log: () => undefined });
  const idle = process.platform === "linux" ? 2 : 0;
  assert.equal(rows.length, 9 + idle);
  assertFigures(rows.filter(({ unit }) => unit !== "%"));
});
