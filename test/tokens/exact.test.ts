import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { countExact, splitLongRuns } from "../../packages/core/src/tokens/exact.ts";

test("the pieces of a text joined are the text", () => {
  const unit = fc.constantFrom("a", "é", "中", "😀", " ", "\n", "=", "7", "\ud83d");
  const runs = fc.array(fc.tuple(unit, fc.integer({ min: 1, max: 40 })), { maxLength: 30 });
  fc.assert(
    fc.property(runs, fc.integer({ min: 1, max: 20 }), (parts, limit) => {
      const text = parts.map(([part, times]) => part.repeat(times)).join("");
      assert.equal(splitLongRuns(text, limit).join(""), text);
    }),
  );
});

test("no piece holds a run of letters, signs or blanks beyond the limit", () => {
  for (const part of ["a", "Ab", "中", "=", "-=", " ", "\n", " \n"]) {
    for (const piece of splitLongRuns(part.repeat(5_000), 256)) assert.ok(piece.length <= 256);
  }
});

test("a text without long runs is returned whole", () => {
  const text = "A sentence, then another one.\n".repeat(1_000);
  assert.deepEqual(splitLongRuns(text), [text]);
  assert.deepEqual(splitLongRuns(""), [""]);
});

test("a surrogate pair is never cut", () => {
  for (const piece of splitLongRuns(`x${"😀".repeat(2_000)}`, 255)) assert.ok(piece.isWellFormed());
  for (const piece of splitLongRuns("😀".repeat(2_000), 255)) assert.ok(piece.isWellFormed());
});

test("100,000 equal characters get an exact count", async () => {
  assert.equal(await countExact("a".repeat(100_000)), 12_500);
  assert.equal(await countExact("0".repeat(99_999)), 33_333);
  for (const part of ["=", " ", "中", "😀"]) {
    const count = await countExact(part.repeat(100_000));
    assert.ok(count !== undefined && count > 0 && count <= 100_000, `${part}: ${count}`);
  }
});

test("text that looks like a control token is counted as text", async () => {
  assert.equal(await countExact(""), 0);
  assert.equal(await countExact("hello world"), 2);
  assert.ok(((await countExact("<|endoftext|>")) ?? 0) > 1);
});
