/** An engine that intercepts, through many turns: the in-attempt lane is its own, the queued one goes to `compact()`. */
import assert from "node:assert/strict";
import { FULL } from "../../runner/short-form.ts";
import { soundRun } from "./sound.ts";
import { longTest } from "../../runner/long-tests.ts";

const TURNS = FULL ? 2_000 : 90;
const FEWEST = FULL ? 30 : 2;

longTest(
  `${TURNS} turns under an intercepting engine pass through ${FEWEST} of its compactions`,
  { timeout: 400_000 },
  async (t) => {
    const lanes = await soundRun(t, { engine: "intercepting", shape: "rounds", turns: TURNS, bias: 1 });
    assert.ok(lanes.inAttempt >= FEWEST, `${lanes.inAttempt} compactions of the in-attempt lane`);
  },
);
