/** The readers of answers and the suite of strange servers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mustBeRight } from "../../../packages/testkit/src/strange-servers/strange-suite.ts";
import { strangeAnswers } from "../../../packages/testkit/src/index.ts";
import { readStrange, resultOf } from "./reading.ts";

const ANSWERS = strangeAnswers();

describe("the suite of strange servers", () => {
  it("has at least 400 answers, of four protocols, each under an id of its own", () => {
    assert.ok(ANSWERS.length >= 400);
    assert.equal(new Set(ANSWERS.map(({ id }) => id)).size, ANSWERS.length);
    assert.equal(new Set(ANSWERS.map(({ protocol }) => protocol)).size, 4);
  });
});

describe("the readers of answers", () => {
  for (const answer of ANSWERS)
    it(`give the right result of ${answer.id}`, async () => {
      for (const size of [1, 7, 1_000_000])
        mustBeRight(answer.right, resultOf(await readStrange(answer, size)));
    });
});
