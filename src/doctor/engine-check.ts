import type { ContextEngineFactory } from "../contract/engine.ts";
import { probeEngine, type EngineVerdict } from "./engine-probe.ts";
import type { Finding } from "./finding.ts";

/** What is registered, as the host would have it. */
export interface RegisteredParts {
  engineIds: readonly string[];
  /** Id of the engine in the slot. */
  contextEngine: string;
  /** Why it is in the slot, in words. */
  slotReason: string;
  failures: readonly { pluginId: string; reason: string }[];
  /** Hooks that plugins watch and that do not exist here. */
  unheardHooks?: readonly { pluginId: string; hooks: readonly string[] }[];
  /** Engines of plugins: those that are tried. */
  engines?: readonly { id: string; factory: ContextEngineFactory }[];
  /** Handed to the engines' factories. */
  config?: unknown;
  /** For each call of an engine that is tried, ms. Default 15 s. */
  probeDeadlineMs?: number;
}

/** The engine in the slot, the plugins that failed, and whether the plugins' engines can compact. */
export async function checkEngines(registered: RegisteredParts | undefined): Promise<Finding[]> {
  if (!registered) {
    const detail = "Not checked, because the host cannot start with this configuration.";
    return [{ level: "warn", check: "engine", detail, fix: "Correct the configuration first." }];
  }
  const findings = [...pluginFindings(registered), slotFinding(registered)];
  const { config, contextEngine, probeDeadlineMs } = registered;
  for (const { id, factory } of registered.engines ?? []) {
    const verdict = await probeEngine(id, factory, {
      config,
      ...(probeDeadlineMs === undefined ? {} : { deadlineMs: probeDeadlineMs }),
    });
    findings.push(...verdictFindings(id, id === contextEngine, verdict));
  }
  return findings;
}

function pluginFindings({ failures, unheardHooks = [] }: RegisteredParts): Finding[] {
  const failed = failures.map(({ pluginId, reason }): Finding => ({
    level: "error",
    check: "plugins",
    detail: `The plugin ${pluginId} could not be registered: ${reason}`,
    fix: `Mend the plugin, or set plugins.entries[${JSON.stringify(pluginId)}].enabled to false.`,
  }));
  const deaf = unheardHooks.map(({ pluginId, hooks }): Finding => ({
    level: "warn",
    check: "plugins",
    detail: `The plugin ${pluginId} watches hooks that do not exist here, so these handlers never run: ${hooks.join(", ")}.`,
    fix: "docs/architecture/contract.md lists the hooks that there are; a gate among these guards nothing.",
  }));
  return [...failed, ...deaf];
}

function slotFinding({ engineIds, contextEngine, slotReason }: RegisteredParts): Finding {
  if (engineIds.includes(contextEngine)) {
    const detail = `The context engine ${contextEngine} is in the slot (${slotReason}) and registered.`;
    return { level: "ok", check: "engine", detail };
  }
  return {
    level: "error",
    check: "engine",
    detail: `The context engine ${JSON.stringify(contextEngine)} is not registered, so every run is refused (there are: ${engineIds.join(", ") || "none"}).`,
    fix: "Name one of these in plugins.slots.contextEngine, or add its plugin to plugins.load.paths.",
  };
}

const COMPACT_FIX =
  "Its author can set info.ownsCompaction to true with a compact() that compacts, or let compact() call delegateCompactionToRuntime.";

function verdictFindings(id: string, active: boolean, verdict: EngineVerdict): Finding[] {
  const { compact, reason, interceptsWithoutMember } = verdict;
  const why = reason === undefined ? "" : ` (${reason})`;
  const where = active ? "" : ", should it be put in the slot";
  const warn = (detail: string, fix: string): Finding => ({ level: "warn", check: "engine", detail, fix });
  const findings: Finding[] = [];
  const lost = `so /compact and the recovery from an overflow would do nothing${where}`;
  if (compact === "no-op") {
    findings.push(
      warn(
        `The engine ${id} does not own compaction and its compact() is a no-op${why}, ${lost}.`,
        COMPACT_FIX,
      ),
    );
  }
  if (compact === "fails") {
    findings.push(
      warn(
        `The engine ${id} does not own compaction and its compact() failed on a made-up conversation${why}, ${lost}.`,
        COMPACT_FIX,
      ),
    );
  }
  // Why the engine in the slot cannot be created is what the host itself says.
  if (compact === "unavailable" && !active) {
    findings.push(
      warn(`The engine ${id} cannot be created${why}.`, "Mend its plugin before you put it in the slot."),
    );
  }
  if (compact === "works") {
    findings.push({ level: "ok", check: "engine", detail: `The engine ${id} compacts.` });
  }
  if (interceptsWithoutMember) {
    findings.push(
      warn(
        `The engine ${id} declares interceptsCompaction and has no interceptCompaction(), so the default compaction always runs.`,
        "Its author can add the member, or leave the declaration out.",
      ),
    );
  }
  return findings;
}
