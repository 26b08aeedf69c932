/** The suite of channels: runs each check at a fresh service and reports what passed, failed or was skipped, and why. */
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
import { connectChecks } from "./checks/channel-connect-check.ts";
import { receiveChecks } from "./checks/channel-receive-check.ts";
import { sendChecks } from "./checks/channel-send-check.ts";
import type { ChannelCheck, ChannelCheckContext, ChannelNeed } from "./channel-check.ts";
import type { ChannelUnderTest } from "./channel-service.ts";
import { ChannelStage } from "./channel-stage.ts";

const CHECKS: readonly ChannelCheck[] = [...connectChecks, ...receiveChecks, ...sendChecks];

export interface ChannelSuiteOptions extends SuiteChoice, ChannelUnderTest {}

export interface ChannelCheckInfo extends CheckInfo {
  /** Optional part of the service that the check needs; without it the check is skipped. */
  needs?: ChannelNeed;
}

/** Every check of the suite, in the order in which they run. */
export function channelChecks(): readonly ChannelCheckInfo[] {
  return CHECKS.map((check) => about(check) as ChannelCheckInfo);
}

/** Runs all checks one after the other. Throws `usage_invalid` for an unknown check id. */
export function runChannelSuite(options: ChannelSuiteOptions): Promise<SuiteReport> {
  return runSuite(suiteOf(options), options);
}

/** Registers one test per check with `test` (default: that of `node:test`). Throws `usage_invalid` for an unknown check id. */
export function testChannel(name: string, options: ChannelSuiteOptions, test?: RegisterTest): void {
  testSuite(name, suiteOf(options), options, test);
}

function suiteOf(options: ChannelSuiteOptions): Suite<ChannelCheckContext> {
  return { kind: "channel", checks: CHECKS, open: (check) => openCheck(check as ChannelCheck, options) };
}

function openCheck(
  check: ChannelCheck,
  options: ChannelUnderTest,
): { context: ChannelCheckContext; end(): Promise<void> } {
  const stages: ChannelStage[] = [];
  return {
    context: {
      stage: async () => {
        const stage = new ChannelStage(await options.open());
        stages.push(stage);
        if (check.needs !== undefined && typeof stage.service[check.needs] !== "function")
          throw new NotOffered(`The service has no ${check.needs}().`);
        return stage;
      },
    },
    end: async () => {
      for (const stage of stages) await stage.end();
    },
  };
}
