/** One check of the harness suite. */
import type { HostCapability } from "@pagurus/contract/engine/engine";
import type { Check } from "../conformance-suite.ts";
import type { HarnessStage, StageOptions } from "./harness-stage.ts";

export interface CheckContext {
  /** A host with the harness in a fresh home, beside a scripted model. Closed after the check. */
  stage(options?: StageOptions): Promise<HarnessStage>;
  /** How long a turn may continue after its abort, ms. */
  graceMs: number;
}

export interface HarnessCheck extends Check<CheckContext> {
  /** Capability that the check needs; a harness that does not declare it skips the check. */
  needs?: HostCapability;
}
