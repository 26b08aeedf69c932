/** The engine suite: runs each check against a fresh engine and says what passed, failed or was skipped, and why. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ContextEngine } from "../../contract/engine.ts";
import { withDeadline } from "../../platform/deadline.ts";
import { NotOffered, type OptionalMember } from "../check.ts";
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
} from "../suite.ts";
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

/** Longest that ending an engine after a check may take, ms. */
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
   * Makes an engine; called at least once for each check. `dir` is a private folder that lives as long as the check:
   * a second call with the same `dir` makes the engine anew after a restart.
   */
  create(context: { dir: string }): ContextEngine | Promise<ContextEngine>;
}

export interface EngineCheckInfo extends CheckInfo {
  /** Optional member that the check is about; an engine without it skips the check. */
  needs?: OptionalMember;
}

/** Every check of the suite, in the order in which they run. */
export function engineChecks(): readonly EngineCheckInfo[] {
  return CHECKS.map((check) => about(check) as EngineCheckInfo);
}

/** Runs all checks one after the other. Throws `usage_invalid` for an id that names no check. */
export function runEngineSuite(options: EngineSuiteOptions): Promise<SuiteReport> {
  return runSuite(suiteOf(options), options);
}

/**
 * Registers one test a check with `test` (default: that of `node:test`). Throws `usage_invalid` for an id that
 * names no check.
 */
export function testEngine(name: string, options: EngineSuiteOptions, test?: RegisterTest): void {
  testSuite(name, suiteOf(options), options, test);
}

function suiteOf(options: EngineSuiteOptions): Suite<CheckContext> {
  return { kind: "engine", checks: CHECKS, open: (check) => openCheck(check as EngineCheck, options) };
}

/** Each stage of a check has a folder of its own, which goes with the check. */
function openCheck(
  check: EngineCheck,
  options: EngineSuiteOptions,
): { context: CheckContext; end(): Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-testkit-"));
  /** A check that is left in the midst of opening one still has it to be ended. */
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
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
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
