/** Shared parts of the suites: running checks one after the other, and reporting each. */
import { PagurusError } from "@pagurus/contract/errors";
import { defined } from "@pagurus/core/data/defined";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { NotOffered, Violation } from "./conformance-check.ts";

/** Timeout of one check, ms. */
export const CHECK_DEADLINE_MS = 30_000;
/** Share of a check's deadline within which an aborted call has to end. */
export const GRACE_SHARE = 0.1;

export interface CheckInfo {
  /** `<stage>.<rule>`; stays the same between versions. */
  id: string;
  /** One sentence on the tested behaviour. */
  title: string;
  /** Optional part that the check needs; the check is skipped without it. */
  needs?: string;
}

export interface Check<C> extends CheckInfo {
  run(context: C): Promise<void>;
}

export interface SuiteChoice {
  /**
   * Known gaps by check id, with the reason: shown as skipped. A check that passes although it is declared here fails, so that
   * no gap outlives its cause.
   */
  gaps?: Record<string, string>;
  /** Ids of the checks to run; default all. */
  only?: readonly string[];
  /** Timeout of a check, ms; an aborted call gets a tenth of it. Default 30,000. */
  deadlineMs?: number;
  /** Timeout of a check that is declared as a gap, ms. Default `deadlineMs`; less saves the wait for what never happens. */
  gapDeadlineMs?: number;
  /** Stops the run: the running check is dropped, its work is ended, its folder removed. */
  signal?: AbortSignal;
  /** Called after each check of a run. */
  tell?(result: CheckResult): void;
}

export interface CheckResult extends CheckInfo {
  status: "passed" | "failed" | "skipped";
  /** Why it failed or was skipped, one sentence. */
  reason?: string;
}

export interface SuiteReport {
  results: CheckResult[];
  passed: number;
  failed: number;
  skipped: number;
  /** No check failed. */
  ok: boolean;
}

/** Registers a test as `test` of `node:test` does; the body gets a context with `skip`. */
export type RegisterTest = (
  name: string,
  body: (context: { skip(reason?: string): void }) => Promise<void>,
) => unknown;

/** A suite's checks, and the context of each. */
export interface Suite<C> {
  /** Name of the kind for error messages: "engine", "harness". */
  kind: string;
  checks: readonly Check<C>[];
  /** Opens the context of one check. */
  open(check: Check<C>): { context: C; end(): Promise<void> };
}

/** Runs the chosen checks one after the other. Throws `usage_invalid` for an unknown check id, and the signal's reason. */
export async function runSuite<C>(suite: Suite<C>, choice: SuiteChoice): Promise<SuiteReport> {
  const results: CheckResult[] = [];
  for (const check of chosen(suite, choice)) {
    choice.signal?.throwIfAborted();
    const result = await runCheck(suite, check, choice);
    choice.signal?.throwIfAborted();
    choice.tell?.(result);
    results.push(result);
  }
  const count = (status: CheckResult["status"]): number =>
    results.filter((result) => result.status === status).length;
  const failed = count("failed");
  return { results, passed: count("passed"), failed, skipped: count("skipped"), ok: failed === 0 };
}

/** Registers one test per check (default: with `node:test`). Throws `usage_invalid` for an unknown check id. */
export function testSuite<C>(
  name: string,
  suite: Suite<C>,
  choice: SuiteChoice,
  test: RegisterTest = nodeTest(),
): void {
  for (const check of chosen(suite, choice)) {
    test(`${name}: ${check.title}`, async (context) => {
      const { status, reason } = await runCheck(suite, check, choice);
      if (status === "skipped") context.skip(reason);
      if (status === "failed") throw new Violation(`${check.id}: ${reason}`);
    });
  }
}

/** Loaded on demand: a plain suite run has no test runner in the process. */
function nodeTest(): RegisterTest {
  const { test } = process.getBuiltinModule("node:test");
  return (name, body) => test(name, body);
}

/** The public facts of a check. */
export function about({ id, title, needs }: CheckInfo): CheckInfo {
  return { id, title, ...defined({ needs }) };
}

function chosen<C>({ kind, checks }: Suite<C>, { gaps, only }: SuiteChoice): readonly Check<C>[] {
  const named = [...Object.keys(gaps ?? {}), ...(only ?? [])];
  const unknown = named.filter((id) => !checks.some((check) => check.id === id));
  if (unknown.length > 0) {
    throw new PagurusError(
      "usage_invalid",
      `The ${kind} suite has no checks ${unknown.join(", ")}; ${kind}Checks() lists their ids.`,
    );
  }
  return only === undefined ? checks : checks.filter(({ id }) => only.includes(id));
}

async function runCheck<C>(suite: Suite<C>, check: Check<C>, choice: SuiteChoice): Promise<CheckResult> {
  const gap = choice.gaps?.[check.id];
  const deadlineMs = gap === undefined ? choice.deadlineMs : (choice.gapDeadlineMs ?? choice.deadlineMs);
  const failure = await failureOf(suite, check, { ...choice, ...defined({ deadlineMs }) });
  const result = (status: CheckResult["status"], reason?: string): CheckResult => ({
    ...about(check),
    status,
    ...defined({ reason }),
  });
  if (failure instanceof NotOffered) return result("skipped", `not offered: ${failure.message}`);
  if (gap !== undefined) {
    if (failure) return result("skipped", `declared gap: ${gap}`);
    return result("failed", `The gap "${gap}" is declared, but the check passes; remove it from the gaps.`);
  }
  if (!failure) return result("passed");
  return result("failed", failure.message);
}

/** The error that the check throws; undefined when it passes. */
async function failureOf<C>(
  suite: Suite<C>,
  check: Check<C>,
  { deadlineMs: ms = CHECK_DEADLINE_MS, signal }: SuiteChoice,
): Promise<Error | undefined> {
  const { context, end } = suite.open(check);
  const label = `The check ${check.id}`;
  try {
    await withDeadline(() => check.run(context), { ms, label, ...defined({ signal }) });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    await end();
  }
}
