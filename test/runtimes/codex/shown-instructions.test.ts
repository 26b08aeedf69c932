import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HarnessTurn } from "../../../packages/contract/src/harness/harness.ts";
import {
  afterCompaction,
  afterRequests,
  firstShown,
  isPastBound,
  nowShown,
  staleParts,
  staleTokens,
  type ShownInstructions,
} from "../../../packages/runtimes/src/codex/shown-instructions.ts";

function turnOf(tokenBudget: number, cost?: { input: number; output: number; cacheRead?: number }) {
  return { model: cost ? { cost } : {}, tokenBudget } as Pick<HarnessTurn, "model" | "tokenBudget">;
}

const text = (index: number, words = 400): string => `State ${index}. ${"ship ".repeat(words)}`;

/** Copies of a thread after this many turns with another text each. */
function after(turns: number, words?: number): ShownInstructions {
  let shown = firstShown(text(0, words));
  for (let index = 1; index < turns; index += 1)
    shown = nowShown(afterRequests(shown, 1), text(index, words));
  return shown;
}

/** The turn at which a new thread begins, with a conversation of this size. */
function boundOf(estimatedTokens: number, turn = turnOf(1_000_000)): number {
  for (let turns = 1; turns < 1_000; turns += 1)
    if (isPastBound(after(turns), { estimatedTokens }, turn)) return turns;
  return Infinity;
}

describe("the instructions that a thread shows", () => {
  it("are the newest copy and each that it replaced", () => {
    const shown = after(3);
    assert.equal(shown.copies.length, 3);
    assert.equal(
      staleTokens(shown),
      shown.copies.slice(0, 2).reduce((sum, { tokens }) => sum + tokens, 0),
    );
    assert.deepEqual(
      staleParts(shown).map(({ source, role, stale }) => [source, role, stale]),
      [
        ["addition", "system", true],
        ["addition", "system", true],
      ],
    );
  });

  it("do not grow while the text stays the same, and are one copy after a compaction", () => {
    const shown = after(2);
    assert.equal(nowShown(shown, text(1)), shown);
    assert.equal(staleTokens(afterCompaction(shown)), 0);
    assert.equal(afterCompaction(shown).copies.length, 1);
    assert.equal(staleTokens(firstShown("")), 0);
  });

  it("begin a new thread later, the longer the conversation that it would read without a cache", () => {
    const [short, long, longest] = [boundOf(1_000), boundOf(20_000), boundOf(200_000)];
    assert.ok(1 < short && short < long && long < longest && longest < 200, `${short} ${long} ${longest}`);
  });

  it("begin a new thread earlier, the more the model's provider takes for cached input", () => {
    const cheap = boundOf(20_000, turnOf(1_000_000, { input: 10, output: 10, cacheRead: 0.5 }));
    const dear = boundOf(20_000, turnOf(1_000_000, { input: 10, output: 10, cacheRead: 5 }));
    assert.ok(dear < cheap, `${dear} ${cheap}`);
  });

  it("begin a new thread before they take the budget of the conversation", () => {
    const shown = after(4);
    const stale = staleTokens(shown);
    const context = { estimatedTokens: 1_000_000 };
    assert.equal(isPastBound(shown, context, turnOf(10_000_000)), false);
    assert.equal(isPastBound(shown, context, turnOf(1_000_000 + stale - 1)), true);
    assert.equal(isPastBound(shown, { estimatedTokens: 10 }, turnOf(stale * 4 - 1)), true);
    assert.equal(isPastBound(after(1), context, turnOf(1)), false, "nothing was replaced");
  });
});
