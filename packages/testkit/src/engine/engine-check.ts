/** One check of the engine suite. */
import type { OptionalMember } from "../conformance-check.ts";
import type { EngineStage, StageOptions } from "./engine-stage.ts";

export interface CheckContext {
  /** A fresh engine with a session of its own in a fresh folder. Disposed of after the check. */
  stage(options?: StageOptions): Promise<EngineStage>;
  /** How long an engine may continue after its signal fired, ms. */
  graceMs: number;
}

export interface EngineCheck {
  /** `<stage>.<rule>`; stays the same between versions. */
  id: string;
  /** One sentence about the engine's behaviour. */
  title: string;
  needs?: OptionalMember;
  run(context: CheckContext): Promise<void>;
}
