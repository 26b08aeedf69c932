/** Two thousand turns with tools in a window of 32,000 tokens; the provider counts 15 % more than the host estimates. */
import assert from "node:assert/strict";
import { assertEvenCosts, assertFlatMemory, soundRun } from "./sound.ts";
import { FULL } from "../../../runner/short-form.ts";
import { longTest } from "../../../runner/long-tests.ts";

const TURNS = FULL ? 2_000 : 40;

longTest(
  `${TURNS} turns under lossless: each request valid, within the window, a continuation of the one before`,
  { timeout: 900_000 },
  async (t) => {
    const { report, ledger } = await soundRun(t, {
      shape: { kind: "turns" },
      turns: TURNS,
      bias: 1.15,
      ...(FULL ? { memoryFrom: 200 } : {}),
    });
    assert.ok(ledger.epochs >= (FULL ? 30 : 1), `${ledger.epochs} epochs`);
    assert.ok(ledger.summaryRequests > 0, "no summary was asked for");
    if (!FULL) return;
    assertEvenCosts(t, report, 200);
    assertFlatMemory(t, report);
  },
);
