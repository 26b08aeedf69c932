/** The harness suite: each check drives the harness in a fresh host and reports what passed, failed or was skipped, and why. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HostCapability } from "@pagurus/contract/engine/engine";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { NotOffered } from "../conformance-check.ts";
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
import { declaredChecks } from "./checks/harness-declared-check.ts";
import { duringChecks } from "./checks/harness-during-check.ts";
import { endChecks } from "./checks/harness-end-check.ts";
import { engineChecks } from "./checks/harness-engine-check.ts";
import { infoChecks } from "./checks/harness-info-check.ts";
import { receiptChecks } from "./checks/harness-receipts-check.ts";
import { recordChecks } from "./checks/harness-record-check.ts";
import { threadChecks } from "./checks/harness-thread-check.ts";
import { toolChecks } from "./checks/harness-tools-check.ts";
import { turnChecks } from "./checks/harness-turn-check.ts";
import type { CheckContext, HarnessCheck } from "./harness-check.ts";
import {
  HarnessStage,
  SUITE_APIS,
  type HarnessUnderTest,
  type StageOptions,
  type SuiteApi,
} from "./harness-stage.ts";
import { defined } from "@pagurus/core/data/defined";

/** Timeout for closing a host after a check, ms. */
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
  /** Capability that the check needs; a harness that does not declare it skips the check. */
  needs?: HostCapability;
}

/** Every check of the suite, in the order in which they run. */
export function harnessChecks(): readonly HarnessCheckInfo[] {
  return CHECKS.map((check) => about(check) as HarnessCheckInfo);
}

/** Runs all checks one after the other. Throws `usage_invalid` for an unknown check id. */
export function runHarnessSuite(options: HarnessSuiteOptions): Promise<SuiteReport> {
  return runSuite(suiteOf(options), options);
}

/** Registers one test per check with `test` (default: that of `node:test`). Throws `usage_invalid` for an unknown check id. */
export function testHarness(name: string, options: HarnessSuiteOptions, test?: RegisterTest): void {
  testSuite(name, suiteOf(options), options, test);
}

function suiteOf(options: HarnessSuiteOptions): Suite<CheckContext> {
  let looked: Promise<Looked> | undefined;
  const open: OpenStage = async (check, stageOptions) => {
    const { api, refused } = await (looked ??= lookAt(options));
    // One check reports it; those that run turns are skipped.
    if (refused !== undefined && !check.id.startsWith("info."))
      throw new NotOffered(`The harness runs no model here; see ${SUPPORTS_CHECK}.`);
    return HarnessStage.open({ ...options, api }, stageOptions);
  };
  const ms = options.deadlineMs ?? CHECK_DEADLINE_MS;
  return { kind: "harness", checks: CHECKS, open: (check) => openCheck(check as HarnessCheck, open, ms) };
}

type OpenStage = (check: HarnessCheck, options: StageOptions & { dir: string }) => Promise<HarnessStage>;

/** Id of the check that fails if a harness cannot run at all. */
const SUPPORTS_CHECK = "info.supports";

interface Looked {
  api: SuiteApi;
  /** Why the harness runs the model in none of the protocols. */
  refused?: string;
}

/** The first protocol in which the harness runs the model; otherwise the first of all, with the reason. */
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
    return { api: apis[0] ?? SUITE_APIS[0], ...defined({ refused }) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Why the harness does not run the model; undefined where it does, or where the host has no answer. */
async function refusalOf(stage: HarnessStage): Promise<string | undefined> {
  try {
    const { runs } = await stage.facts();
    return runs.supported ? undefined : (runs.reason ?? "");
  } catch {
    // The checks report the problem.
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
  /** A check that stops while opening a host must still close it. */
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
      // Each check starts with its own host.
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

/** Closes a host without judging it; separate checks test that. */
async function endQuietly(stage: HarnessStage, ms: number): Promise<boolean> {
  try {
    await withDeadline(() => stage.close(), { ms, label: "Ending the host" });
    return true;
  } catch {
    // Checks of the group `end` report the problem.
    return false;
  }
}
