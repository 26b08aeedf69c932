/** A single turn of 600 rounds, several times as large as the window. */
import assert from "node:assert/strict";
import { WINDOW } from "./run.ts";
import { soundRun } from "./sound.ts";
import { FULL } from "../../../runner/short-form.ts";
import { longTest } from "../../../runner/long-tests.ts";

const ROUNDS = FULL ? 600 : 90;
const SPAN = FULL ? WINDOW : WINDOW / 2;
const TURN = 4;

longTest(
  `one turn of ${ROUNDS} rounds under lossless completes within the window, with its input always in the context`,
  { timeout: 400_000 },
  async (t) => {
    const shape = { kind: "one-turn", turn: TURN, rounds: ROUNDS } as const;
    const { report, ledger } = await soundRun(t, { shape, turns: 6, bias: 1.15, window: SPAN });
    assert.ok(ledger.tokens >= (FULL ? 3 : 1) * SPAN, `${ledger.tokens} tokens in the conversation`);
    assert.ok(ledger.splits >= (FULL ? 4 : 1), `${ledger.splits} epochs inside the turn`);
    const inside = report.compactions.filter(({ turn }) => turn === TURN).length;
    assert.ok(inside <= ROUNDS / 20, `${inside} compactions of ${ROUNDS} rounds`);
  },
);
