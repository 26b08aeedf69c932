import assert from "node:assert/strict";
import { test } from "node:test";
import { MOST_UNSTABLE, repeatFailed } from "../../scripts/repeated-failures.ts";
import type { TestJob, TestOutcome } from "../../scripts/test-job.ts";

const FILES = ["test/a.test.ts", "test/b.test.ts"];

function outcome(part: Partial<TestOutcome> = {}): TestOutcome {
  return {
    job: { title: "unit tests", files: FILES },
    passed: 5,
    failed: 0,
    skipped: 0,
    tests: [],
    failures: [],
    seconds: 1,
    cpuSeconds: 1,
    childrenSeconds: 0,
    interrupted: false,
    output: "",
    ...part,
  };
}

const FAILED = outcome({ failed: 1, failures: ["test/b.test.ts: holds"] });

/** Runs that answer with `outcomes`, in order; `files` lists the files of each. */
function runs(...outcomes: TestOutcome[]): {
  run: (job: TestJob) => Promise<TestOutcome>;
  files: string[][];
} {
  const files: string[][] = [];
  const run = (job: TestJob): Promise<TestOutcome> => {
    files.push(job.files);
    const next = outcomes.shift();
    assert.ok(next);
    return Promise.resolve(next);
  };
  return { run, files };
}

test("a test that passes when its file runs again alone is unstable and counts as passed", async () => {
  const { run, files } = runs(outcome({ passed: 3 }));
  const [same, repeated] = await repeatFailed([outcome(), FAILED], run);
  assert.deepEqual(files, [["test/b.test.ts"]]);
  assert.deepEqual([same?.passed, same?.unstable], [5, []]);
  assert.deepEqual([repeated?.passed, repeated?.failed, repeated?.failures], [6, 0, []]);
  assert.deepEqual(repeated?.unstable, ["test/b.test.ts: holds"]);
});

test("a test that fails again has failed", async () => {
  const { run } = runs(outcome({ passed: 2, failed: 1, failures: ["test/b.test.ts: holds"] }));
  const [repeated] = await repeatFailed([FAILED], run);
  assert.deepEqual([repeated?.passed, repeated?.failed, repeated?.unstable], [5, 1, []]);
});

test("a second run without any test proves nothing", async () => {
  const { run } = runs(outcome({ passed: 0 }));
  const [repeated] = await repeatFailed([FAILED], run);
  assert.equal(repeated?.failed, 1);
});

test("of a process that ended early each file runs again, and its tests count then", async () => {
  const { run, files } = runs(outcome({ passed: 3 }), outcome({ passed: 4, skipped: 1 }));
  const early = outcome({ passed: 1, problem: "unit tests ended with 1 before it could report" });
  const [repeated] = await repeatFailed([early], run);
  assert.deepEqual(
    files,
    FILES.map((file) => [file]),
  );
  assert.deepEqual([repeated?.passed, repeated?.skipped, repeated?.problem], [7, 1, undefined]);
  assert.deepEqual(repeated?.unstable, ["unit tests ended with 1 before it could report"]);
});

test("more failures than a few, and those of an interrupted run, are not repeated", async () => {
  const many = Array.from({ length: MOST_UNSTABLE + 1 }, () => FAILED);
  const interrupted = [FAILED, outcome({ interrupted: true, problem: "unit tests was interrupted" })];
  for (const outcomes of [many, interrupted]) {
    const after = await repeatFailed(outcomes, runs().run);
    assert.deepEqual(
      after.map(({ failed, problem }) => [failed, problem]),
      outcomes.map(({ failed, problem }) => [failed, problem]),
    );
  }
});
