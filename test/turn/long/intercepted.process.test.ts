/** An engine that intercepts, through many turns: the in-attempt lane is its own, the queued one goes to `compact()`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FULL, soundRun } from "./sound.ts";

const TURNS = FULL ? 2_000 : 800;

test(
  `${TURNS} turns under an intercepting engine pass through 30 of its compactions`,
  { timeout: 400_000 },
  async (t) => {
    const lanes = await soundRun(t, { engine: "intercepting", shape: "rounds", turns: TURNS, bias: 1 });
    assert.ok(lanes.inAttempt >= 30, `${lanes.inAttempt} compactions of the in-attempt lane`);
  },
);
