import assert from "node:assert/strict";
import { run } from "../../bench/terminal/bench.ts";
import { longTest } from "../runner/long-tests.ts";
import { assertFigures } from "./figures.ts";

longTest("keys are drawn while an answer, code and a command's output stream", async () => {
  const rows = await run({ quick: true, log: () => undefined });
  assert.equal(rows.length, 12);
  assertFigures(rows);
});
