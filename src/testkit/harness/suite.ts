/** The harness suite: each check drives the harness in a fresh host and says what passed, failed or was skipped, and why. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HostCapability } from "../../contract/engine.ts";
import { withDeadline } from "../../platform/deadline.ts";
import { NotOffered } from "../check.ts";
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
import { declaredChecks } from "./checks/declared.ts";
import { duringChecks } from "./checks/during.ts";
import { endChecks } from "./checks/end.ts";
import { engineChecks } from "./checks/engine.ts";
import { infoChecks } from "./checks/info.ts";
import { receiptChecks } from "./checks/receipts.ts";
import { recordChecks } from "./checks/record.ts";
import { threadChecks } from "./checks/thread.ts";
import { toolChecks } from "./checks/tools.ts";
import { turnChecks } from "./checks/turn.ts";
import type { CheckContext, HarnessCheck } from "./harness-check.ts";
import {
  HarnessStage,
  SUITE_APIS,
  type HarnessUnderTest,
  type StageOptions,
  type SuiteApi,
} from "./stage.ts";

/** Longest that ending a host after a check may take, ms. */
const CLOSE_DEADLINE_MS = 20_000;

const CHECKS: readonly HarnessCheck[] = [
  ...infoChecks,
  ...turnChecks,
  ...engineChecks,
  ...toolChecks,
  ...recordChecks,
  ...duringChecks,
  ...threadChecks,
  ...receiptChecks,
  ...declaredChecks,
  ...endChecks,
];

export interface HarnessSuiteOptions extends SuiteChoice, HarnessUnderTest {}

export interface HarnessCheckInfo extends CheckInfo {
  /** Capability that the check is about; a harness that does not declare it skips the check. */
  needs?: HostCapability;
}

/** Every check of the suite, in the order in which they run. */
export function harnessChecks(): readonly HarnessCheckInfo[] {
  return CHECKS.map((check) => about(check) as HarnessCheckInfo);
}

/** Runs all checks one after the other. Throws `usage_invalid` for an id that names no check. */
export function runHarnessSuite(options: HarnessSuiteOptions): Promise<SuiteReport> {
  return runSuite(suiteOf(options), options);
}

/**
 * Registers one test a check with `test` (default: that of `node:test`). Throws `usage_invalid` for an id that
 * names no check.
 */
export function testHarness(name: string, options: HarnessSuiteOptions, test?: RegisterTest): void {
  testSuite(name, suiteOf(options), options, test);
}

function suiteOf(options: HarnessSuiteOptions): Suite<CheckContext> {
  let looked: Promise<Looked> | undefined;
  const open: OpenStage = async (check, stageOptions) => {
    const { api, refused } = await (looked ??= lookAt(options));
    // One check says so; those that run turns would say it again.
    if (refused !== undefined && !check.id.startsWith("info."))
      throw new NotOffered(`The harness runs no model here; see ${SUPPORTS_CHECK}.`);
    return HarnessStage.open({ ...options, api }, stageOptions);
  };
  const ms = options.deadlineMs ?? CHECK_DEADLINE_MS;
  return { kind: "harness", checks: CHECKS, open: (check) => openCheck(check as HarnessCheck, open, ms) };
}

type OpenStage = (check: HarnessCheck, options: StageOptions & { dir: string }) => Promise<HarnessStage>;

/** The check that fails where a harness cannot run at all. */
const SUPPORTS_CHECK = "info.supports";

interface Looked {
  api: SuiteApi;
  /** Why the harness runs the model in none of the protocols. */
  refused?: string;
}

/** The first protocol in which the harness runs the model; where there is none, the first of all, and why. */
async function lookAt(options: HarnessSuiteOptions): Promise<Looked> {
  const apis = options.api === undefined ? SUITE_APIS : [options.api];
  const folder = mkdtempSync(join(tmpdir(), "pagurus-testkit-"));
  let refused: string | undefined;
  try {
    for (const api of apis) {
      const why = await refusalOf(await HarnessStage.open({ ...options, api }, { dir: join(folder, api) }));
      if (why === undefined) return { api };
      refused ??= why;
    }
    return { api: apis[0] ?? SUITE_APIS[0], ...(refused === undefined ? {} : { refused }) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Why the harness does not run the model; undefined where it does, or where the host cannot tell. */
async function refusalOf(stage: HarnessStage): Promise<string | undefined> {
  try {
    const { runs } = await stage.facts();
    return runs.supported ? undefined : (runs.reason ?? "");
  } catch {
    // What is wrong with it is the matter of the checks.
    return undefined;
  } finally {
    await endQuietly(stage, CLOSE_DEADLINE_MS);
  }
}

function openCheck(
  check: HarnessCheck,
  open: OpenStage,
  ms: number,
): { context: CheckContext; end(): Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-testkit-"));
  /** A check that is left in the midst of opening one still has it to be closed. */
  const opening: Promise<HarnessStage>[] = [];
  const { needs } = check;
  const context: CheckContext = {
    graceMs: ms * GRACE_SHARE,
    stage: async (stageOptions = {}) => {
      const dir = join(folder, String(opening.length));
      const opens = open(check, { ...stageOptions, dir });
      opening.push(opens);
      const made = await opens;
      if (needs === undefined) return made;
      const { capabilities } = await made.facts();
      if (!capabilities.includes(needs))
        throw new NotOffered(`The harness does not declare the capability ${needs}.`);
      // A check begins with a host of its own making.
      await made.restart();
      return made;
    },
  };
  return {
    context,
    end: async () => {
      const within = Math.min(ms, CLOSE_DEADLINE_MS);
      for (const opens of opening) {
        const stage = await withDeadline(() => opens, { ms: within, label: "Opening" }).catch(
          () => undefined,
        );
        if (stage) await endQuietly(stage, within);
      }
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** How a host ends is the matter of checks of its own; here it only has to be over. */
async function endQuietly(stage: HarnessStage, ms: number): Promise<boolean> {
  try {
    await withDeadline(() => stage.close(), { ms, label: "Ending the host" });
    return true;
  } catch {
    // Checks of the group `end` tell what is wrong with it.
    return false;
  }
}
