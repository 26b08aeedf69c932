import assert from "node:assert/strict";
import { test } from "node:test";
import { createPagurus } from "../../../packages/app/src/app.ts";
import { harnessChecks, runHarnessSuite } from "../../../packages/testkit/src/index.ts";
import { MUTANT } from "./making.ts";
import { MUTANTS } from "./mutants.ts";
import { firstOf } from "../../runner/long-tests.ts";

/** Some of these harnesses never answer. */
const DEADLINE_MS = 4_000;

test("every check of the harness suite has a harness that fails it", () => {
  const ids = harnessChecks().map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(Object.keys(MUTANTS).toSorted(), ids.toSorted());
});

for (const [id, create] of firstOf(Object.entries(MUTANTS), 12)) {
  test(`the check ${id} fails for a harness that does not meet it`, async () => {
    const options = { open: createPagurus, runtime: MUTANT, create, api: "openai-responses" as const };
    const [result] = (await runHarnessSuite({ ...options, only: [id], deadlineMs: DEADLINE_MS })).results;
    assert.equal(result?.status, "failed", `${result?.status}: ${result?.reason}`);
    assert.ok((result.reason ?? "").length > 10, "the reason is a sentence");
  });
}
