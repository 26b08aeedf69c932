import assert from "node:assert/strict";
import { test } from "node:test";
import { readUsage } from "../../packages/core/src/protocols/messages/messages-usage.ts";

test("the tokens of a provider's own compaction count, which only the iterations of a usage have", () => {
  const usage = {
    input_tokens: 100,
    output_tokens: 20,
    cache_read_input_tokens: 1_000,
    iterations: [
      { type: "compaction", input_tokens: 3_000, output_tokens: 400, cache_read_input_tokens: 7 },
      { type: "message", input_tokens: 100, output_tokens: 20, cache_read_input_tokens: 1_000 },
    ],
  };
  assert.deepEqual(readUsage(usage), { input: 3_100, output: 420, cacheRead: 1_007, totalTokens: 4_527 });
  const { iterations: _iterations, ...plain } = usage;
  const counted = { input: 100, output: 20, cacheRead: 1_000, totalTokens: 1_120 };
  assert.deepEqual(readUsage(plain), counted);
  assert.deepEqual(
    readUsage({ ...plain, iterations: [usage.iterations[1]] }),
    counted,
    "iterations of the answer itself",
  );
  assert.deepEqual(readUsage({ ...plain, iterations: null }), counted);
});
