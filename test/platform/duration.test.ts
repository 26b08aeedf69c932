import assert from "node:assert/strict";
import { test } from "node:test";
import { durationText } from "../../packages/core/src/platform/duration.ts";

test("a duration is shown in readable units: a minute, not 60,000 ms (finding D12)", () => {
  const texts = [0, 250, 1_000, 1_500, 15_000, 60_000, 90_000, 3_600_000, 3_725_000, 86_400_000].map(
    durationText,
  );
  const expected = [
    "0 ms",
    "250 ms",
    "1 s",
    "1.5 s",
    "15 s",
    "1 min",
    "1 min 30 s",
    "1 h",
    "1 h 2 min",
    "24 h",
  ];
  assert.deepEqual(texts, expected);
});
