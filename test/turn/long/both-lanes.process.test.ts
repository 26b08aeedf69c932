/**
 * Many turns with tools in a window of 32,000 tokens, through many compactions of both lanes. The provider counts 15 %
 * more than the tokenizer that the host's estimate is fitted to. With `PAGURUS_PROVE=1` two thousand, and also each
 * lane's own run, one of them at a provider that counts as the tokenizer does.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FULL } from "../../runner/short-form.ts";
import { soundRun } from "./sound.ts";
import { longTest } from "../../runner/long-tests.ts";

const TURNS = FULL ? 2_000 : 160;
const FEWEST = FULL ? 30 : 2;
const timeout = 400_000;

longTest(
  `${TURNS} turns pass through ${FEWEST} compactions of each lane, all requests valid, memory flat`,
  { timeout },
  async (t) => {
    const lanes = await soundRun(t, { engine: "legacy", shape: "mixed", turns: TURNS, bias: 1.15 });
    assert.ok(lanes.queued >= FEWEST, `${lanes.queued} compactions of the queued lane`);
    assert.ok(lanes.inAttempt >= FEWEST, `${lanes.inAttempt} compactions of the in-attempt lane`);
  },
);

if (FULL) {
  test(
    "2,000 turns with their text between the turns are compacted by the queued lane",
    { timeout },
    async (t) => {
      const lanes = await soundRun(t, { engine: "legacy", shape: "between", turns: TURNS, bias: 1 });
      assert.ok(lanes.queued >= FEWEST, `${lanes.queued} compactions of the queued lane`);
    },
  );

  test(
    "2,000 turns with their text inside the turns are compacted by the in-attempt lane",
    { timeout },
    async (t) => {
      const lanes = await soundRun(t, { engine: "legacy", shape: "rounds", turns: TURNS, bias: 1.15 });
      assert.ok(lanes.inAttempt >= FEWEST, `${lanes.inAttempt} compactions of the in-attempt lane`);
    },
  );
}
