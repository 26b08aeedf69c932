/** One check of the suite of channels. */
import type { Check } from "../conformance-suite.ts";
import type { ChannelStage } from "./channel-stage.ts";

/** Parts of a service that the suite can do without. */
export type ChannelNeed = "pretend";

export interface ChannelCheckContext {
  /** A service and a host without a connection; all is closed after the check. */
  stage(): Promise<ChannelStage>;
}

export interface ChannelCheck extends Check<ChannelCheckContext> {
  needs?: ChannelNeed;
}
