import assert from "node:assert/strict";
import { test } from "node:test";
import { engineChecks, runEngineSuite } from "../../packages/testkit/src/index.ts";
import { MUTANTS } from "./mutants.ts";
import { everyOther } from "../runner/long-tests.ts";

/** Some of these engines never answer. */
const DEADLINE_MS = 4_000;

test("every check of the suite has an engine that fails it", () => {
  const ids = engineChecks().map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(Object.keys(MUTANTS).toSorted(), ids.toSorted());
});

for (const [id, create] of everyOther(Object.entries(MUTANTS))) {
  test(`the check ${id} fails for an engine that does not meet it`, async () => {
    const [result] = (await runEngineSuite({ create, only: [id], deadlineMs: DEADLINE_MS })).results;
    assert.equal(result?.status, "failed", `${result?.status}: ${result?.reason}`);
    assert.ok((result.reason ?? "").length > 10, "the reason is a sentence");
  });
}
