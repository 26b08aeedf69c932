/** One check of the harness suite. */
import type { HostCapability } from "../../contract/engine.ts";
import type { Check } from "../suite.ts";
import type { HarnessStage, StageOptions } from "./stage.ts";

export interface CheckContext {
  /** A host with the harness in a fresh home, beside a model that answers as it is told. Closed after the check. */
  stage(options?: StageOptions): Promise<HarnessStage>;
  /** How long a turn may go on after its abort, ms. */
  graceMs: number;
}

export interface HarnessCheck extends Check<CheckContext> {
  /** Capability that the check is about; a harness that does not declare it skips the check. */
  needs?: HostCapability;
}
