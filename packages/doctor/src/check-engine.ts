import { isBundledId } from "@pagurus/core/config/bundled";
import type { ContextEngineFactory } from "@pagurus/contract/engine/engine";
import type { PluginFact } from "@pagurus/contract/host/plugin";
import { probeEngine, type EngineVerdict } from "./engine-probe.ts";
import type { Finding } from "./finding.ts";
import { documentPath } from "@pagurus/core/platform/document";
import { defined } from "@pagurus/core/data/defined";

/** Registered parts, as the host has them. */
export interface RegisteredParts {
  engineIds: readonly string[];
  /** Id of the engine in the slot. */
  contextEngine: string;
  /** Why it is in the slot, as text. */
  slotReason: string;
  failures: readonly { pluginId: string; reason: string; needed?: string; path?: string }[];
  /** Reports of the user's plugins besides their failures. */
  plugins?: readonly PluginFact[];
  /** Engines of plugins, which are tested. */
  engines?: readonly { id: string; factory: ContextEngineFactory }[];
  /** Passed to the engines' factories. */
  config?: unknown;
  /** Timeout of each call of a tested engine, ms. Default 15 s. */
  probeDeadlineMs?: number;
}

/** Checks the engine in the slot, the plugins that failed, and whether the plugins' engines can compact. */
export async function checkEngines(registered: RegisteredParts | undefined): Promise<Finding[]> {
  if (!registered) {
    const detail = "Not checked, because the host cannot start with this configuration.";
    return [{ level: "warn", check: "engine", detail, fix: "Correct the configuration first." }];
  }
  const findings = [...pluginFindings(registered), slotFinding(registered)];
  const { config, contextEngine, probeDeadlineMs } = registered;
  for (const { id, factory } of registered.engines ?? []) {
    const verdict = await probeEngine(id, factory, { config, ...defined({ deadlineMs: probeDeadlineMs }) });
    findings.push(...verdictFindings(id, id === contextEngine, verdict));
  }
  return findings;
}

function pluginFindings({ failures, plugins = [] }: RegisteredParts): Finding[] {
  const failed = failures.map(({ pluginId, reason, needed, path }): Finding => ({
    level: needed === undefined ? "warn" : "error",
    check: "plugins",
    detail: `The plugin ${pluginId} could not be registered: ${reason}${needed === undefined ? " Runs continue without it, each with a degradation." : ` No run starts without it, since it ${needed}.`}`,
    fix:
      isBundledId(pluginId) && path !== undefined
        ? `pagurus plugins uninstall ${path}`
        : `Repair the plugin, or set plugins.entries[${JSON.stringify(pluginId)}].enabled to false.`,
  }));
  return [...failed, ...plugins.flatMap(factFindings)];
}

function factFindings({ id, notUsed, idleGates, errors }: PluginFact): Finding[] {
  const findings: Finding[] = [];
  const finding = (level: Finding["level"], detail: string, fix?: string): void =>
    void findings.push({ level, check: "plugins", detail, ...defined({ fix }) });
  const other = notUsed.filter((what) => !idleGates.includes(what));
  if (other.length > 0)
    finding("info", `The plugin ${id} has registered what is not used here: ${other.join(", ")}.`);
  if (idleGates.length > 0)
    finding(
      "warn",
      `The plugin ${id} has gates that nothing here calls, so they guard nothing: ${idleGates.join(", ")}.`,
      `${documentPath("architecture/contract.md")} lists the hooks that are called.`,
    );
  for (const error of errors)
    finding(
      "warn",
      `The plugin ${id} has an error that nothing in it handles: ${error}`,
      "Update the plugin, or report the error to its author.",
    );
  return findings;
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
  // The host itself reports why the engine in the slot cannot be created.
  if (compact === "unavailable" && !active) {
    findings.push(
      warn(`The engine ${id} cannot be created${why}.`, "Fix its plugin before you put it in the slot."),
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
