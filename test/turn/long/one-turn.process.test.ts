/**
 * A single turn of 600 tool rounds, three times the window in size; in the short form of 250, larger than the window. The scripted model checks each request: the input verbatim, the summary
 * directly after it, then the newest rounds, whole and verbatim.
 */
import assert from "node:assert/strict";
import { longRun } from "./job.ts";
import { FULL } from "../../runner/short-form.ts";
import { assertSound, WINDOW } from "./sound.ts";
import { LONG_ROUNDS, LONG_TURN } from "./words.ts";
import { longTest } from "../../runner/long-tests.ts";

/** Three turns before it, two after it. */
const TURNS = 6;
/** Of 600 rounds with 110,000 tokens; about 11,000 fit between two compactions. */
const MOST_COMPACTIONS = 20;
const FEWEST_ROUNDS_BETWEEN = 20;

longTest(
  `one turn of ${LONG_ROUNDS} rounds, larger than the window, completes within it`,
  { timeout: 200_000 },
  async (t) => {
    const run = await longRun({ engine: "legacy", shape: "one-turn", turns: TURNS, bias: 1.15 });
    const { report, conversation } = run;
    assertSound(report, conversation, TURNS);
    assert.ok(
      conversation.totalTokens >= (FULL ? 3 : 1.2) * WINDOW,
      `${conversation.totalTokens} tokens were said`,
    );
    assert.equal(report.toolCalls, LONG_ROUNDS + TURNS - 1);
    const cuts = conversation.cuts.filter(({ turn }) => turn === LONG_TURN);
    assert.ok(cuts.length >= (FULL ? 3 : 2), `${cuts.length} compactions`);
    assert.ok(cuts.length <= MOST_COMPACTIONS, `${cuts.length} compactions`);
    for (const [index, cut] of cuts.entries()) {
      assert.equal(cut.split, true, "the input stands before the summary");
      assert.ok(cut.after >= 2 * FEWEST_ROUNDS_BETWEEN, `${cut.after} messages stayed verbatim`);
      const rounds = cut.request - (cuts[index - 1]?.request ?? 0);
      assert.ok(rounds >= FEWEST_ROUNDS_BETWEEN, `${rounds} rounds between two compactions`);
    }
    assert.deepEqual(new Set(report.compactions.map(({ lane }) => lane)), new Set(["in-attempt"]));
    t.diagnostic(
      `${conversation.totalTokens} tokens said, at most ${conversation.largest} in a request, ${cuts.length} compactions`,
    );
  },
);
