/** The suite of stores: runs each check in a fresh place and reports what passed, failed or was skipped, and why. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NotOffered } from "../conformance-check.ts";
import {
  about,
  runSuite,
  testSuite,
  type CheckInfo,
  type RegisterTest,
  type Suite,
  type SuiteChoice,
  type SuiteReport,
} from "../conformance-suite.ts";
import { appendChecks } from "./checks/store-append-check.ts";
import { branchChecks } from "./checks/store-branch-check.ts";
import { commitChecks } from "./checks/store-commit-check.ts";
import { crashChecks } from "./checks/store-crash-check.ts";
import { deleteChecks } from "./checks/store-delete-check.ts";
import { exchangeChecks } from "./checks/store-exchange-check.ts";
import { listChecks } from "./checks/store-list-check.ts";
import { lockChecks } from "./checks/store-lock-check.ts";
import { openChecks } from "./checks/store-open-check.ts";
import { rotateChecks } from "./checks/store-rotate-check.ts";
import { sharedChecks } from "./checks/store-shared-check.ts";
import type { StoreCheck, StoreCheckContext, StoreNeed } from "./store-check.ts";
import { StorePlace, type StoreUnderTest } from "./store-place.ts";

const CHECKS: readonly StoreCheck[] = [
  ...appendChecks,
  ...commitChecks,
  ...openChecks,
  ...crashChecks,
  ...branchChecks,
  ...rotateChecks,
  ...lockChecks,
  ...listChecks,
  ...exchangeChecks,
  ...deleteChecks,
  ...sharedChecks,
];

export interface StoreSuiteOptions extends SuiteChoice, StoreUnderTest {}

export interface StoreCheckInfo extends CheckInfo {
  /** Optional part that the check needs; a store without it skips the check. */
  needs?: StoreNeed;
}

/** Every check of the suite, in the order in which they run. */
export function storeChecks(): readonly StoreCheckInfo[] {
  return CHECKS.map((check) => about(check) as StoreCheckInfo);
}

/** Runs all checks one after the other. Throws `usage_invalid` for an unknown check id. */
export function runStoreSuite(options: StoreSuiteOptions): Promise<SuiteReport> {
  return runSuite(suiteOf(options), options);
}

/** Registers one test per check with `test` (default: that of `node:test`). Throws `usage_invalid` for an unknown check id. */
export function testStore(name: string, options: StoreSuiteOptions, test?: RegisterTest): void {
  testSuite(name, suiteOf(options), options, test);
}

function suiteOf(options: StoreSuiteOptions): Suite<StoreCheckContext> {
  return { kind: "store", checks: CHECKS, open: (check) => openCheck(check as StoreCheck, options) };
}

/** Gives each place of a check its own folder, removed with the check. */
function openCheck(
  check: StoreCheck,
  options: StoreSuiteOptions,
): { context: StoreCheckContext; end(): Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-testkit-"));
  const places: StorePlace[] = [];
  return {
    context: {
      place: async () => {
        if (check.needs !== undefined && typeof options[check.needs] !== "function")
          throw new NotOffered(`The store has no ${check.needs}().`);
        const dir = join(folder, String(places.length));
        mkdirSync(dir);
        const place = new StorePlace(options, dir);
        places.push(place);
        return place;
      },
    },
    end: async () => {
      for (const place of places) await place.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
