/** One check of the program suite. */
import type { Check } from "../conformance-suite.ts";
import type { ProgramStage } from "./program-stage.ts";

export interface ProgramCheckContext {
  /** The program in a fresh home, beside a scripted model. Closed after the check. */
  stage(): Promise<ProgramStage>;
  /** How long processes may outlive a start, ms. */
  graceMs: number;
}

export type ProgramCheck = Check<ProgramCheckContext>;
