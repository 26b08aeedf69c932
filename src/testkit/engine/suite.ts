/** The engine suite: runs each check against a fresh engine and says what passed, failed or was skipped, and why. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ContextEngine } from "../../contract/engine.ts";
import { PagurusError } from "../../contract/errors.ts";
import { withDeadline } from "../../platform/deadline.ts";
import { NotOffered, Violation, type OptionalMember } from "./check.ts";
import type { CheckContext, EngineCheck } from "./engine-check.ts";
import { assembleChecks } from "./checks/assemble.ts";
import { bootstrapChecks } from "./checks/bootstrap.ts";
import { compactChecks } from "./checks/compact.ts";
import { compactFailureChecks } from "./checks/compact-failures.ts";
import { endChecks } from "./checks/end.ts";
import { infoChecks } from "./checks/info.ts";
import { interceptChecks } from "./checks/intercept.ts";
import { liveTurnChecks } from "./checks/live-turn.ts";
import { maintainChecks } from "./checks/maintain.ts";
import { rotationChecks } from "./checks/rotation.ts";
import { settleChecks } from "./checks/settle.ts";
import { sameBytesChecks } from "./checks/same-bytes.ts";
import { subagentChecks } from "./checks/subagent.ts";
import { EngineStage, type StageOptions } from "./stage.ts";

/** Longest that one check may take, ms. */
const CHECK_DEADLINE_MS = 30_000;
/** Longest that ending an engine after a check may take, ms. */
const DISPOSE_DEADLINE_MS = 10_000;
/** Share of a check's deadline within which an aborted call has to end. */
const GRACE_SHARE = 0.1;

const CHECKS: readonly EngineCheck[] = [
  ...infoChecks,
  ...assembleChecks,
  ...liveTurnChecks,
  ...sameBytesChecks,
  ...settleChecks,
  ...bootstrapChecks,
  ...compactChecks,
  ...compactFailureChecks,
  ...rotationChecks,
  ...interceptChecks,
  ...maintainChecks,
  ...subagentChecks,
  ...endChecks,
];

export interface EngineSuiteOptions {
  /**
   * Makes an engine; called at least once for each check. `dir` is a private folder that lives as long as the check:
   * a second call with the same `dir` makes the engine anew after a restart.
   */
  create(context: { dir: string }): ContextEngine | Promise<ContextEngine>;
  /**
   * Checks that the engine does not meet, by id, with the reason: shown as skipped. A check that passes although
   * it is declared here fails, so that no gap outlives its cause.
   */
  gaps?: Record<string, string>;
  /** Ids of the checks to run; default all. */
  only?: readonly string[];
  /** Longest that a check may take, ms; a tenth of it is what an aborted call has to end. Default 30,000. */
  deadlineMs?: number;
}

export interface EngineCheckInfo {
  id: string;
  /** One sentence about the engine's behaviour. */
  title: string;
  /** Optional member that the check is about; an engine without it skips the check. */
  needs?: OptionalMember;
}

export interface CheckResult extends EngineCheckInfo {
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

/** Registers a test as `test` of `node:test` does; the body may call `skip` of what it is given. */
export type RegisterTest = (
  name: string,
  body: (context: { skip(reason?: string): void }) => Promise<void>,
) => unknown;

/** Every check of the suite, in the order in which they run. */
export function engineChecks(): readonly EngineCheckInfo[] {
  return CHECKS.map(about);
}

/** Runs all checks one after the other. Throws `usage_invalid` for an id that names no check. */
export async function runEngineSuite(options: EngineSuiteOptions): Promise<SuiteReport> {
  const results: CheckResult[] = [];
  for (const check of chosen(options)) results.push(await runCheck(check, options));
  const count = (status: CheckResult["status"]): number =>
    results.filter((result) => result.status === status).length;
  const failed = count("failed");
  return { results, passed: count("passed"), failed, skipped: count("skipped"), ok: failed === 0 };
}

/**
 * Registers one test a check with `test` (default: that of `node:test`). Throws `usage_invalid` for an id that
 * names no check.
 */
export function testEngine(name: string, options: EngineSuiteOptions, test: RegisterTest = nodeTest()): void {
  for (const check of chosen(options)) {
    test(`${name}: ${check.title}`, async (context) => {
      const { status, reason } = await runCheck(check, options);
      if (status === "skipped") context.skip(reason);
      if (status === "failed") throw new Violation(`${check.id}: ${reason}`);
    });
  }
}

/** Loaded at the call: whoever only runs the suite has no test runner in the process. */
function nodeTest(): RegisterTest {
  const { test } = process.getBuiltinModule("node:test");
  return (name, body) => test(name, body);
}

/** The checks to run. Throws `usage_invalid` for an id that names none. */
function chosen({ gaps, only }: EngineSuiteOptions): readonly EngineCheck[] {
  const named = [...Object.keys(gaps ?? {}), ...(only ?? [])];
  const unknown = named.filter((id) => !CHECKS.some((check) => check.id === id));
  if (unknown.length > 0) {
    throw new PagurusError(
      "usage_invalid",
      `The engine suite has no checks ${unknown.join(", ")}; engineChecks() lists their ids.`,
    );
  }
  return only === undefined ? CHECKS : CHECKS.filter(({ id }) => only.includes(id));
}

function about({ id, title, needs }: EngineCheck): EngineCheckInfo {
  return { id, title, ...(needs ? { needs } : {}) };
}

async function runCheck(check: EngineCheck, options: EngineSuiteOptions): Promise<CheckResult> {
  const gap = options.gaps?.[check.id];
  const failure = await failureOf(check, options);
  const result = (status: CheckResult["status"], reason?: string): CheckResult => ({
    ...about(check),
    status,
    ...(reason === undefined ? {} : { reason }),
  });
  if (failure instanceof NotOffered) return result("skipped", `not offered: ${failure.message}`);
  if (gap !== undefined) {
    if (failure) return result("skipped", `declared gap: ${gap}`);
    return result("failed", `The gap "${gap}" is declared, but the check passes; remove it from the gaps.`);
  }
  if (!failure) return result("passed");
  return result("failed", failure.message);
}

/** What the check throws; undefined when it holds. */
async function failureOf(check: EngineCheck, options: EngineSuiteOptions): Promise<Error | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-testkit-"));
  const stages: EngineStage[] = [];
  const ms = options.deadlineMs ?? CHECK_DEADLINE_MS;
  const context: CheckContext = {
    graceMs: ms * GRACE_SHARE,
    stage: async (stageOptions: StageOptions = {}) => {
      const dir = join(folder, String(stages.length));
      const made = await EngineStage.open(options.create, { ...stageOptions, dir });
      stages.push(made);
      if (check.needs !== undefined && typeof made.engine[check.needs] !== "function")
        throw new NotOffered(`The engine has no ${check.needs}().`);
      return made;
    },
  };
  try {
    await withDeadline(() => check.run(context), { ms, label: `The check ${check.id}` });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    for (const stage of stages) await endQuietly(stage, Math.min(ms, DISPOSE_DEADLINE_MS));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** How an engine ends is the matter of checks of its own; here it only has to be over. */
async function endQuietly(stage: EngineStage, ms: number): Promise<boolean> {
  try {
    await withDeadline(() => stage.engine.dispose?.(), { ms, label: "dispose()" });
    return true;
  } catch {
    // Checks of the group `end` tell what is wrong with it.
    return false;
  }
}
