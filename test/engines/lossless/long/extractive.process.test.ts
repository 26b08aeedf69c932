/** Ten thousand turns without model summaries: extracts alone. */
import assert from "node:assert/strict";
import { assertEvenCosts, assertFlatMemory, soundRun } from "./sound.ts";
import { FULL } from "../../../runner/short-form.ts";
import { longTest } from "../../../runner/long-tests.ts";

const TURNS = FULL ? 10_000 : 80;

longTest(
  `${TURNS} turns with extracts alone: each context valid and within the budget, no turn more expensive than earlier ones`,
  { timeout: 1_800_000 },
  async (t) => {
    const run = await soundRun(t, {
      shape: { kind: "small" },
      turns: TURNS,
      bias: 1,
      window: 16_000,
      summaries: "none",
      ...(FULL ? { memoryFrom: 500 } : {}),
    });
    const { report, ledger } = run;
    assert.equal(ledger.summaryRequests, 0);
    assert.ok(ledger.epochs >= TURNS / 150, `${ledger.epochs} epochs`);
    assertEvenCosts(t, report, FULL ? 300 : 20);
    if (FULL) assertFlatMemory(t, report);
  },
);
