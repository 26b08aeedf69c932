/** The lower bound of tokens by which an input is refused before anything else is done with it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Calibration } from "../../packages/core/src/tokens/calibration.ts";
import { estimateTokens } from "../../packages/core/src/tokens/estimate.ts";
import { tokensOver } from "../../packages/core/src/tokens/least-tokens.ts";
import { runs } from "../runner/short-form.ts";
import { loopTurns } from "../runner/loop-turns.ts";

test("no input is over a limit that the smallest calibrated estimate keeps", async () => {
  const piece = fc.constantFrom("word ", "a", "  ", "\n", "你好", "{}[]", "ä", "😀", "1234", "----");
  const text = fc
    .array(fc.tuple(piece, fc.integer({ min: 1, max: 40_000 })), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.map(([each, times]) => each.repeat(times)).join(""));
  // Reported tokens are a fifth of the estimate: the factor goes to its least.
  const least = new Calibration();
  for (let at = 0; at < 50; at += 1) least.observe(10_000, 2_000);
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 3 }), async (texts) => {
      const tokens = texts.reduce((sum, each) => sum + least.apply(estimateTokens(each)), 0);
      assert.equal(await tokensOver(texts, Math.max(tokens + 1, maxByLength(texts))), undefined);
    }),
    { numRuns: runs(200), seed: 3 },
  );
});

/** Blanks are the longest tokens: the estimate knows longer ones than the vocabularies have. */
function maxByLength(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((sum, { length }) => sum + length, 0) / 128);
}

test("an input that its length alone refuses is not counted", async () => {
  const texts = Array.from({ length: 400 }, () => " ".repeat(2 ** 20));
  const before = process.cpuUsage();
  assert.equal(await tokensOver(texts, 200_000), Math.ceil((400 * 2 ** 20) / 128));
  const { user } = process.cpuUsage(before);
  // Counting 400 MB takes seconds of CPU time.
  assert.ok(user < 500_000, `${user} µs`);
});

test("others run while a long input is counted, and the count ends at the limit", async () => {
  let tokens: number | undefined;
  const turns = await loopTurns(
    async () => (tokens = await tokensOver(["lorem ipsum ".repeat(2 ** 20)], 300_000)),
  );
  assert.ok(Number(tokens) > 300_000);
  // One turn passes in any case.
  assert.ok(turns > 1, `${turns} turns`);
});
