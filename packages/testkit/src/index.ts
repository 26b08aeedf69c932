/** `pagurus/testkit`: conformance suites for implementations of the contract. */
export {
  channelChecks,
  runChannelSuite,
  testChannel,
  type ChannelCheckInfo,
  type ChannelSuiteOptions,
} from "./channel/channel-suite.ts";
export type { ChannelService, ChannelUnderTest, Peer } from "./channel/channel-service.ts";
export {
  engineChecks,
  runEngineSuite,
  testEngine,
  type EngineCheckInfo,
  type EngineSuiteOptions,
} from "./engine/engine-suite.ts";
export {
  harnessChecks,
  runHarnessSuite,
  testHarness,
  type HarnessCheckInfo,
  type HarnessSuiteOptions,
} from "./harness/harness-suite.ts";
export type { HarnessPlace } from "./harness/harness-stage.ts";
export {
  runStoreSuite,
  storeChecks,
  testStore,
  type StoreCheckInfo,
  type StoreSuiteOptions,
} from "./store/store-suite.ts";
export type { StoreUnderTest } from "./store/store-place.ts";
export type { CheckResult, RegisterTest, SuiteReport } from "./conformance-suite.ts";
export {
  runStrangeServers,
  strangeAnswers,
  strangeServerChecks,
  testStrangeServers,
  type StrangeClient,
  type StrangeRequest,
  type StrangeResult,
  type StrangeSuiteOptions,
} from "./strange-servers/strange-suite.ts";
export type { RightResult, StrangeAnswer } from "./strange-servers/strange-answer.ts";
