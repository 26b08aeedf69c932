/** The engine suite: runs each check against a fresh engine and reports what passed, failed or was skipped, and why. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { NotOffered, type OptionalMember } from "../conformance-check.ts";
import {
  about,
  CHECK_DEADLINE_MS,
  GRACE_SHARE,
  runSuite,
  testSuite,
  type CheckInfo,
  type RegisterTest,
  type Suite,
  type SuiteChoice,
  type SuiteReport,
} from "../conformance-suite.ts";
import type { CheckContext, EngineCheck } from "./engine-check.ts";
import { assembleChecks } from "./checks/engine-assemble-check.ts";
import { bootstrapChecks } from "./checks/engine-bootstrap-check.ts";
import { compactChecks } from "./checks/engine-compact-check.ts";
import { compactFailureChecks } from "./checks/engine-compact-failures-check.ts";
import { endChecks } from "./checks/engine-end-check.ts";
import { infoChecks } from "./checks/engine-info-check.ts";
import { interceptChecks } from "./checks/engine-intercept-check.ts";
import { liveTurnChecks } from "./checks/engine-live-turn-check.ts";
import { maintainChecks } from "./checks/engine-maintain-check.ts";
import { rotationChecks } from "./checks/engine-rotation-check.ts";
import { settleChecks } from "./checks/engine-settle-check.ts";
import { sameBytesChecks } from "./checks/engine-same-bytes-check.ts";
import { subagentChecks } from "./checks/engine-subagent-check.ts";
import { EngineStage, type StageOptions } from "./engine-stage.ts";

/** Timeout for disposing of an engine after a check, ms. */
const DISPOSE_DEADLINE_MS = 10_000;

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

export interface EngineSuiteOptions extends SuiteChoice {
  /**
   * Creates an engine; called at least once per check. `dir` is a private folder that lives as long as the check: a second call
   * with the same `dir` creates the engine again after a restart.
   */
  create(context: { dir: string }): ContextEngine | Promise<ContextEngine>;
}

export interface EngineCheckInfo extends CheckInfo {
  /** Optional member that the check needs; an engine without it skips the check. */
  needs?: OptionalMember;
}

/** Every check of the suite, in the order in which they run. */
export function engineChecks(): readonly EngineCheckInfo[] {
  return CHECKS.map((check) => about(check) as EngineCheckInfo);
}

/** Runs all checks one after the other. Throws `usage_invalid` for an unknown check id. */
export function runEngineSuite(options: EngineSuiteOptions): Promise<SuiteReport> {
  return runSuite(suiteOf(options), options);
}

/** Registers one test per check with `test` (default: that of `node:test`). Throws `usage_invalid` for an unknown check id. */
export function testEngine(name: string, options: EngineSuiteOptions, test?: RegisterTest): void {
  testSuite(name, suiteOf(options), options, test);
}

function suiteOf(options: EngineSuiteOptions): Suite<CheckContext> {
  return { kind: "engine", checks: CHECKS, open: (check) => openCheck(check as EngineCheck, options) };
}

/** Gives each stage of a check its own folder, removed with the check. */
function openCheck(
  check: EngineCheck,
  options: EngineSuiteOptions,
): { context: CheckContext; end(): Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-testkit-"));
  /** A check that stops while opening an engine must still dispose of it. */
  const opening: Promise<EngineStage>[] = [];
  const ms = options.deadlineMs ?? CHECK_DEADLINE_MS;
  const context: CheckContext = {
    graceMs: ms * GRACE_SHARE,
    stage: async (stageOptions: StageOptions = {}) => {
      const dir = join(folder, String(opening.length));
      const opens = EngineStage.open(options.create, { ...stageOptions, dir });
      opening.push(opens);
      const made = await opens;
      if (check.needs !== undefined && typeof made.engine[check.needs] !== "function")
        throw new NotOffered(`The engine has no ${check.needs}().`);
      return made;
    },
  };
  return {
    context,
    end: async () => {
      const within = Math.min(ms, DISPOSE_DEADLINE_MS);
      for (const opens of opening) {
        const stage = await withDeadline(() => opens, { ms: within, label: "Opening" }).catch(
          () => undefined,
        );
        if (stage) await endQuietly(stage, within);
        stage?.close();
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Disposes of an engine without judging it; separate checks test that. */
async function endQuietly(stage: EngineStage, ms: number): Promise<boolean> {
  try {
    await withDeadline(() => stage.engine.dispose?.(), { ms, label: "dispose()" });
    return true;
  } catch {
    // Checks of the group `end` report the problem.
    return false;
  }
}
