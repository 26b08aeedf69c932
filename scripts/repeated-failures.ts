/**
 * The second run of what failed, for `npm test -- --repeat-failed`: each file with a failure once more, in a process of its own, when nothing
 * else runs. A test that fails again has failed; one that passes is unstable, which the last lines name. Decision 037.
 */
import type { TestJob, TestOutcome } from "./test-job.ts";

/** Failures of one run that may be unstable; more of them have a common cause, and nothing is repeated. */
export const MOST_UNSTABLE = 3;

/** `unstable`: what failed once and passed when it was repeated, e.g. `test/bench/terminal.test.ts: keys are drawn`. */
export interface RepeatedOutcome extends TestOutcome {
  unstable: string[];
}

function isBad({ failed, problem }: TestOutcome): boolean {
  return failed > 0 || problem !== undefined;
}

/** The files with a failure; all of the job where its process ended or was stopped before it could say which. */
function failedFiles({ job, failures, problem }: TestOutcome): string[] {
  if (problem !== undefined) return job.files;
  return job.files.filter((file) => failures.some((failure) => failure.startsWith(`${file}: `)));
}

/** The outcome after the second run: as before where a test failed again or none of its files is known. */
async function repeated(
  outcome: TestOutcome,
  run: (job: TestJob) => Promise<TestOutcome>,
): Promise<RepeatedOutcome> {
  const files = failedFiles(outcome);
  const again: TestOutcome[] = [];
  for (const file of files) again.push(await run({ title: `${file}, repeated alone`, files: [file] }));
  const passes = again.reduce((sum, { passed }) => sum + passed, 0);
  if (passes === 0 || again.some(isBad)) return { ...outcome, unstable: [] };
  const { problem, failures, ...rest } = outcome;
  const whole = problem !== undefined;
  return {
    ...rest,
    passed: whole ? passes : outcome.passed + outcome.failed,
    skipped: whole ? again.reduce((sum, { skipped }) => sum + skipped, 0) : outcome.skipped,
    failed: 0,
    failures: [],
    unstable: whole ? [problem] : failures,
  };
}

/** Repeats the bad ones of `outcomes` by `run`, unless there are more than `MOST_UNSTABLE` or a signal ended the work. */
export async function repeatFailed(
  outcomes: readonly TestOutcome[],
  run: (job: TestJob) => Promise<TestOutcome>,
): Promise<RepeatedOutcome[]> {
  const count = outcomes.reduce(
    (sum, { failed, problem }) => sum + failed + Number(problem !== undefined),
    0,
  );
  const repeats = count <= MOST_UNSTABLE && !outcomes.some(({ interrupted }) => interrupted);
  const all: RepeatedOutcome[] = [];
  for (const outcome of outcomes)
    all.push(repeats && isBad(outcome) ? await repeated(outcome, run) : { ...outcome, unstable: [] });
  return all;
}
