/** The suite of a user's own program: under `pagurus wire`, or as a client of `pagurus acp`, in starts of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  about,
  GRACE_SHARE,
  runSuite,
  testSuite,
  type CheckInfo,
  type RegisterTest,
  type Suite,
  type SuiteChoice,
  type SuiteReport,
} from "../conformance-suite.ts";
import { programConversationChecks } from "./checks/program-conversation-check.ts";
import { programStartChecks } from "./checks/program-start-check.ts";
import type { ProgramCheck, ProgramCheckContext } from "./program-check.ts";
import { ProgramStage, type ProgramUnderTest } from "./program-stage.ts";

/** Of one check, ms: it is made of starts of the program, each of which takes seconds on a busy machine. */
const DEADLINE_MS = 180_000;

const CHECKS: readonly ProgramCheck[] = [...programStartChecks, ...programConversationChecks];

export interface ProgramSuiteOptions extends SuiteChoice, ProgramUnderTest {}

/** Every check of the suite, in the order in which they run. */
export function programChecks(): readonly CheckInfo[] {
  return CHECKS.map(about);
}

/** Runs all checks one after the other. Throws `usage_invalid` for an unknown check id. */
export function runProgramSuite(options: ProgramSuiteOptions): Promise<SuiteReport> {
  return runSuite(suiteOf(options), { deadlineMs: DEADLINE_MS, ...options });
}

/** Registers one test per check with `test` (default: that of `node:test`). Throws `usage_invalid` for an unknown check id. */
export function testProgram(name: string, options: ProgramSuiteOptions, test?: RegisterTest): void {
  testSuite(name, suiteOf(options), { deadlineMs: DEADLINE_MS, ...options }, test);
}

function suiteOf(options: ProgramSuiteOptions): Suite<ProgramCheckContext> {
  const graceMs = (options.deadlineMs ?? DEADLINE_MS) * GRACE_SHARE;
  return {
    kind: "program",
    checks: CHECKS,
    open: () => {
      const folder = mkdtempSync(join(tmpdir(), "pagurus-testkit-"));
      const opened: Promise<ProgramStage>[] = [];
      const stage = (): Promise<ProgramStage> => {
        const opens = ProgramStage.open(options, join(folder, String(opened.length)));
        opened.push(opens);
        return opens;
      };
      return {
        context: { stage, graceMs },
        end: async () => {
          for (const opens of opened) await (await opens).close();
          rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
        },
      };
    },
  };
}
