import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  gaugeBar,
  compactionSizes,
  nextCompaction,
  turnGauge,
} from "../../packages/host/src/command/context-gauge.ts";
import { dollars } from "../../packages/core/src/data/plain-numbers.ts";

test("the bar has a fixed number of cells and is never more than full", () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 40 }), (tokens, budget, cells) => {
      const [bar = ""] = gaugeBar({ tokens, budget }, cells).split(" ");
      assert.equal(Array.from(bar).length, cells);
    }),
  );
  assert.equal(gaugeBar({ tokens: 300, budget: 200 }, 4), "████ 150 %");
  assert.equal(gaugeBar({ tokens: 300, budget: 0 }, 4), "░░░░ 0 %");
});

test("the next compaction is shown with its lane, handler and threshold", () => {
  const gauge = { tokens: 1, budget: 1_000 };
  assert.equal(
    nextCompaction({ ...gauge, next: { lane: "in-attempt", handler: "safeguard" } }),
    "at 1,000 tokens, by safeguard, inside a turn",
  );
  const legacy = { lane: "queued", handler: "legacy" } as const;
  const builtIn = { lane: "in-attempt", handler: "built-in" } as const;
  assert.equal(
    nextCompaction({ ...gauge, next: legacy, inTurn: builtIn }),
    "at 1,000 tokens, by legacy, between turns; by built-in, inside a turn",
  );
  assert.equal(
    nextCompaction({ ...gauge, next: legacy, inTurn: legacy }),
    "at 1,000 tokens, by legacy, between turns and inside a turn",
  );
  assert.equal(nextCompaction({ ...gauge, inTurn: builtIn }), "at 1,000 tokens, by built-in, inside a turn");
  assert.equal(
    turnGauge({ context: { ...gauge, next: legacy, inTurn: builtIn } }),
    "context ░░░░░░░░░░ 0 %  1 of 1,000 · compacts at 1,000 by legacy or built-in",
  );
  assert.equal(nextCompaction(gauge), "not automatically");
  assert.equal(nextCompaction({ tokens: 1, budget: 0 }), undefined);
});

test("the line after a turn shows known figures only", () => {
  const context = { tokens: 500, budget: 1_000 };
  assert.equal(turnGauge({}), undefined);
  assert.equal(turnGauge({ cost: {} }), undefined);
  assert.equal(turnGauge({ cost: { limits: { turn: 1 } } }), undefined);
  assert.equal(turnGauge({ context: { tokens: 500, budget: 0 } }), "context 500 tokens");
  assert.equal(turnGauge({ context }), "context █████░░░░░ 50 %  500 of 1,000");
  assert.equal(turnGauge({ cost: { turn: 0 } }), "cost $0.00");
  assert.equal(turnGauge({ cost: { session: 0.5, day: 2 } }), "cost session $0.50, today $2.00");
  assert.equal(turnGauge({ cost: { turn: 0.5 } }, 3), "cost $0.50");
});

test("a limit in force is shown beside its figure", () => {
  const cost = { turn: 0.25, session: 1, day: 3, limits: { turn: 0.5, day: 20 } };
  assert.equal(turnGauge({ cost }), "cost $0.25 of $0.50 (session $1.00, today $3.00 of $20.00)");
});

test("the tokens saved by a compaction are never negative", () => {
  assert.equal(compactionSizes(182_000, 41_000), "182,000 → 41,000 tokens (saved 141,000)");
  assert.equal(compactionSizes(10, 10), "10 → 10 tokens (nothing saved)");
  assert.equal(compactionSizes(10, 11), "10 → 11 tokens (nothing saved)");
});

test("small costs keep their significant digits", () => {
  const sums = [0.012, 0.34, 0.999, 1.2, 12.345, 0.00012];
  assert.deepEqual(sums.map(dollars), ["$0.012", "$0.34", "$0.999", "$1.20", "$12.35", "$0.00012"]);
});

test("a count missing from the runtime is not compared (finding D12)", () => {
  assert.equal(compactionSizes(0, 7_046), "now 7,046 tokens");
  assert.equal(compactionSizes(7_046, 0), "7,046 tokens before");
  assert.equal(compactionSizes(0, 0), "tokens not counted");
});
