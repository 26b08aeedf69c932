/** `pagurus/testkit`: conformance suites for those who implement a part of the contract. */
export {
  engineChecks,
  runEngineSuite,
  testEngine,
  type EngineCheckInfo,
  type EngineSuiteOptions,
} from "./engine/suite.ts";
export {
  harnessChecks,
  runHarnessSuite,
  testHarness,
  type HarnessCheckInfo,
  type HarnessSuiteOptions,
} from "./harness/suite.ts";
export type { HarnessPlace } from "./harness/stage.ts";
export type { CheckResult, RegisterTest, SuiteReport } from "./suite.ts";
