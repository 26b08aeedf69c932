import assert from "node:assert/strict";
import { it } from "node:test";
import { betterOf, comparePairs, type Better, type Sample } from "../../scripts/pairs.ts";

function rounds(better: Better, ...values: number[]): Sample[][] {
  return values.map((value) => [{ measure: "it", value, unit: "ms", better }]);
}

function verdict(better: Better, before: number[], after: number[]): boolean | undefined {
  return comparePairs(rounds(better, ...before), rounds(better, ...after))[0]?.worse;
}

it("the direction of a row is that of its target, else that of its measure or unit, and one without is refused", () => {
  assert.equal(betterOf({ measure: "x: added to completion", unit: "%", target: "<= 2" }), "less");
  assert.equal(betterOf({ measure: "x: bytes that a cache has", unit: "%" }), "more");
  assert.equal(betterOf({ measure: "calls", unit: "of 9, 3 model calls", target: ">= 1" }), "more");
  assert.equal(betterOf({ measure: "bulk ingest", unit: "messages/s" }), "more");
  assert.equal(betterOf({ measure: "walk", unit: "ms" }), "less");
  assert.throws(() => betterOf({ measure: "share", unit: "%" }), /"share" \(%\) has no direction/);
});

it("a figure is worse when it moved in the wrong direction by more than twice the noise of the pairs", () => {
  const before = [100, 101, 99, 100, 102, 98];
  const more = before.map((value) => value * 1.2);
  assert.equal(verdict("less", before, more), true);
  assert.equal(verdict("more", before, more), false);
  assert.equal(verdict("neither", before, more), false);
  assert.equal(verdict("more", more, before), true);
  assert.equal(
    verdict(
      "less",
      before,
      before.map((value) => value * 1.05),
    ),
    false,
  );
});

it("differences that spread widely are noise, and figures at zero or below are compared", () => {
  assert.equal(verdict("less", [100, 100, 100, 100, 100, 100], [90, 150, 95, 160, 105, 140]), false);
  assert.equal(verdict("less", [0, 0, 0], [0, 0, 0]), false);
  assert.equal(verdict("less", [0, 0, 0], [2, 2, 2]), true);
  assert.equal(verdict("less", [-1, -1, -1], [-1, -1, -1]), false);
});
