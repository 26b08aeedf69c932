/**
 * Checks an engine's host requirements before an operation starts: a runtime that cannot serve it is refused, never half used. Source:
 * context-engine page, "Host requirements".
 */
import type { ContextEngine, HostCapability, HostOperation } from "@pagurus/contract/engine/engine";
import { PagurusError } from "@pagurus/contract/errors";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { ModelInfo } from "@pagurus/contract/model";
import { supportOf } from "./select-runtime.ts";

/** Capabilities that the runtime lacks for an operation; empty when it has all. `manual-compact` is an older name of compaction. */
export function missingCapabilities(
  { info }: ContextEngine,
  harness: Pick<AgentHarness, "capabilities">,
  operation: HostOperation,
): HostCapability[] {
  const needed = requirementOf(info, operation)?.requiredCapabilities ?? [];
  return needed.filter((capability) => !harness.capabilities.includes(capability));
}

/** `among`: all registered runtimes and the model, to name those that qualify. Throws `host_requirement`. */
export function checkHostRequirements(
  engine: ContextEngine,
  harness: AgentHarness,
  operation: HostOperation,
  among: { harnesses: readonly AgentHarness[]; model: ModelInfo },
): void {
  const missing = missingCapabilities(engine, harness, operation);
  if (missing.length === 0) return;
  const { info } = engine;
  const message = requirementOf(info, operation)?.unsupportedMessage?.trim();
  const able = among.harnesses.filter(
    (other) =>
      missingCapabilities(engine, other, operation).length === 0 && supportOf(other, among.model).supported,
  );
  const works =
    able.length > 0
      ? `Runtimes that have all of it for ${among.model.ref}: ${able.map(({ id }) => id).join(", ")} (--runtime, or agentRuntime.id of the model).`
      : 'No runtime here has all of it for this model; set plugins.slots.contextEngine to another engine, such as "legacy".';
  throw new PagurusError(
    "host_requirement",
    [
      `The engine "${info.id}" needs ${missing.join(", ")} for ${operation}, which the runtime "${harness.id}" does not have.`,
      ...(message ? [message] : []),
      works,
    ].join(" "),
    { details: { engine: info.id, runtime: harness.id, operation, missing, able: able.map(({ id }) => id) } },
  );
}

function requirementOf(
  { hostRequirements }: ContextEngine["info"],
  operation: HostOperation,
): NonNullable<NonNullable<ContextEngine["info"]["hostRequirements"]>[HostOperation]> | undefined {
  return (
    hostRequirements?.[operation] ??
    (operation === "compaction" ? hostRequirements?.["manual-compact"] : undefined)
  );
}
