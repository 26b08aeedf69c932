import assert from "node:assert/strict";
import { test } from "node:test";
import { createPagurus } from "../../../packages/app/src/app.ts";
import { runHarnessSuite } from "../../../packages/testkit/src/index.ts";
import { MUTANT } from "./making.ts";
import { NAMED_MUTANTS } from "./named-mutants.ts";
import { everyOther } from "../../runner/long-tests.ts";

/** A check that only runs out of time says nothing of the mistake. */
const DEADLINE_MS = 15_000;

for (const [what, { create, seenBy, says }] of everyOther(Object.entries(NAMED_MUTANTS)))
  test(`a harness that ${what} is detected and reported by the suite`, async () => {
    const options = { open: createPagurus, runtime: MUTANT, create, api: "openai-responses" as const };
    const { results } = await runHarnessSuite({ ...options, only: seenBy, deadlineMs: DEADLINE_MS });
    const notSeen = results.flatMap(({ id, status }) => (status === "failed" ? [] : [id]));
    assert.deepEqual(notSeen, []);
    assert.equal(results.length, seenBy.length);
    const reasons = results.map(({ reason = "" }) => reason);
    assert.ok(
      reasons.some((reason) => says.test(reason)),
      reasons.join("\n"),
    );
  });
