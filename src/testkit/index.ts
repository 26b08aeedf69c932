/** `pagurus/testkit`: conformance suites for those who implement a part of the contract. */
export {
  engineChecks,
  runEngineSuite,
  testEngine,
  type CheckResult,
  type EngineCheckInfo,
  type EngineSuiteOptions,
  type RegisterTest,
  type SuiteReport,
} from "./engine/suite.ts";
