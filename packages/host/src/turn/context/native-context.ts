/** Whether engine or runtime decides what the model sees. Source: harness port, "8. Compaction policy". */
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { AgentHarness } from "@pagurus/contract/harness/harness";

/** False for an engine that declares `governsContext: false`: it passes its input through. */
export function governs({ info }: Pick<ContextEngine, "info">): boolean {
  return info.governsContext !== false;
}

/** True when the runtime keeps and compacts the context itself, as it does without a host. */
export function runtimeKeepsContext(harness: AgentHarness, engine: Pick<ContextEngine, "info">): boolean {
  return harness.keepsContext === true && !governs(engine);
}
