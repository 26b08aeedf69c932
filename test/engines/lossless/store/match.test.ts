import assert from "node:assert/strict";
import { test } from "node:test";
import { isEnough } from "../../../../packages/lossless/src/store/search/match.ts";

const LEAST = { share: 0.3, weight: 4, namedShare: 0.12, wholeWeight: 3 };

test("a match needs share and weight, less of the share for known names, and less weight where one message has all the words", () => {
  const cases: [weight: number, share: number, isNamed: boolean, expected: boolean][] = [
    [4, 0.3, false, true],
    [3.9, 0.9, false, false],
    [9, 0.29, false, false],
    [0, 0.12, true, true],
    [0, 0.11, true, false],
    [3, 1, false, true],
    [2.9, 1, false, false],
  ];
  for (const [weight, share, isNamed, expected] of cases)
    assert.equal(isEnough({ weight, share, isNamed }, LEAST), expected, `${weight} ${share} ${isNamed}`);
  assert.equal(isEnough({ weight: 3, share: 1, isNamed: false }, { share: 0.3, weight: 4 }), false);
});
