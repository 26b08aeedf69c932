/** The settings of one agent: its entry in `agents.list` over `agents.defaults`. */
import { defined } from "../data/defined.ts";
import { homedir } from "node:os";
import { PagurusError } from "@pagurus/contract/errors";
import { DEFAULT_PERMISSION_MODE } from "@pagurus/contract/host/permission-modes";
import { DEFAULT_MAX_STEPS, DEFAULT_TIMEOUT_SECONDS } from "./defaults.ts";
import { expandPath } from "./config-paths.ts";
import type {
  AgentConfig,
  AgentModelConfig,
  PagurusConfig,
  PermissionConfig,
  PermissionMode,
  SurfaceToolsConfig,
} from "./config-types.ts";

export interface AgentSettings {
  /** Absolute path; a relative one in the configuration starts at the user's home folder. */
  workspace?: string;
  /** Model ref or alias. */
  model?: string;
  /** Refs or aliases of the models that take over when `model` fails, in order. */
  fallbacks: string[];
  /** By model ref; the agent's own settings of a ref override the defaults'. */
  models: Record<string, AgentModelConfig>;
  surfaces: SurfaceToolsConfig;
  /** The one place that decides the mode of an agent whose configuration names none. */
  permission: PermissionConfig & { mode: PermissionMode };
  thinking?: "off" | "low" | "medium" | "high";
  maxSteps: number;
  timeoutSeconds: number;
}

/** The agent of a request that names none. */
export const DEFAULT_AGENT_ID = "main";

/** `main` needs no entry. Throws `config_invalid` for another agent without one. */
export function agentSettings(config: PagurusConfig, agentId: string): AgentSettings {
  const defaults: AgentConfig = config.agents?.defaults ?? {};
  const own = ownEntry(config, agentId);
  const workspace = own.workspace ?? defaults.workspace;
  const model = own.model ?? defaults.model;
  const thinking = own.thinking ?? defaults.thinking;
  return {
    ...(workspace !== undefined && { workspace: expandPath(workspace, homedir()) }),
    ...(model !== undefined && { model: typeof model === "string" ? model : model.primary }),
    fallbacks: typeof model === "object" ? (model.fallbacks ?? []) : [],
    ...defined({ thinking }),
    models: mergedModels(defaults.models ?? {}, own.models ?? {}),
    surfaces: { ...defaults.surfaces, ...own.surfaces },
    permission: mergedPermission(defaults.permission ?? {}, own.permission ?? {}),
    maxSteps: own.maxSteps ?? defaults.maxSteps ?? DEFAULT_MAX_STEPS,
    timeoutSeconds: own.timeoutSeconds ?? defaults.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS,
  };
}

/** `main` first, then the others in the order of the configuration. */
export function agentIds(config: PagurusConfig): string[] {
  const list = config.agents?.list ?? [];
  const others = list.map(({ id }) => id).filter((id) => id.toLowerCase() !== DEFAULT_AGENT_ID);
  return [DEFAULT_AGENT_ID, ...others];
}

function ownEntry(config: PagurusConfig, agentId: string): AgentConfig {
  const list = config.agents?.list ?? [];
  const wanted = agentId.toLowerCase();
  const entry = list.find(({ id }) => id.toLowerCase() === wanted);
  if (entry) return entry;
  if (wanted === DEFAULT_AGENT_ID) return {};
  const known = agentIds(config).join(", ");
  throw new PagurusError(
    "config_invalid",
    `No agent ${JSON.stringify(agentId)} is configured (there are: ${known}); add it to agents.list or name one of these.`,
    { details: { agentId } },
  );
}

function mergedModels(
  defaults: Record<string, AgentModelConfig>,
  own: Record<string, AgentModelConfig>,
): Record<string, AgentModelConfig> {
  const merged: Record<string, AgentModelConfig> = { ...defaults };
  for (const [ref, settings] of Object.entries(own)) merged[ref] = { ...defaults[ref], ...settings };
  return merged;
}

/** Single settings of the agent override the defaults'; its rules are added to theirs, so that remembered ones still apply. */
function mergedPermission(
  defaults: PermissionConfig,
  own: PermissionConfig,
): PermissionConfig & { mode: PermissionMode } {
  const allow = [...(defaults.allow ?? []), ...(own.allow ?? [])];
  const deny = [...(defaults.deny ?? []), ...(own.deny ?? [])];
  const mode = own.mode ?? defaults.mode ?? DEFAULT_PERMISSION_MODE;
  return { ...defaults, ...own, mode, ...(allow.length > 0 && { allow }), ...(deny.length > 0 && { deny }) };
}
