import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { argumentsProblem } from "../../packages/core/src/platform/call-arguments.ts";

const MOST = 4 * 1024 * 1024;

function nested(levels: number): unknown {
  return Array.from({ length: levels }).reduce<unknown>((inner) => ({ a: inner }), "x");
}

test("arguments of JSON within the limits are accepted", () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 20 }), (value) => argumentsProblem(value) === undefined));
});

test("arguments are refused by their depth, wherever the depth is", () => {
  assert.equal(argumentsProblem(nested(100)), undefined);
  for (const value of [nested(101), [1, { b: nested(100) }, 2], { a: {}, b: [nested(99)], c: "x" }])
    assert.match(String(argumentsProblem(value)), /nest deeper than 100 levels/);
});

test("arguments are refused by the characters of all their texts and names together", () => {
  const long = "a".repeat(MOST / 2);
  assert.equal(argumentsProblem({ a: long }), undefined);
  for (const value of [
    "a".repeat(MOST + 1),
    { a: long, b: [{ c: long }] },
    { [long]: { [long]: 1 } },
    [long, [long], 1],
  ])
    assert.match(String(argumentsProblem(value)), /have more than 4194304 characters/);
});
