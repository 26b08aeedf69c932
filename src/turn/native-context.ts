/** Who decides what the model of a runtime sees. Source: harness port, "8. Compaction policy". */
import { DEFAULT_CONTEXT_ENGINE } from "../config/defaults.ts";
import type { ContextEngine } from "../contract/engine.ts";
import type { AgentHarness } from "../contract/harness.ts";

/** False for the engine that hands on what it is given. */
export function governs({ info }: Pick<ContextEngine, "info">): boolean {
  return info.id !== DEFAULT_CONTEXT_ENGINE;
}

/** The runtime keeps and compacts the context by itself, as it does without a host. */
export function runtimeKeepsContext(harness: AgentHarness, engine: Pick<ContextEngine, "info">): boolean {
  return harness.keepsContext === true && !governs(engine);
}
