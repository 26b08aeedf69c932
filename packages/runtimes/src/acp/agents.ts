/** Which agent runs a turn, and where its program is. Starts no program. */
import { PagurusError } from "@pagurus/contract/errors";
import type { ModelInfo } from "@pagurus/contract/model";
import { namedProgram, passedOverText } from "@pagurus/core/platform/executables";
import type { AcpSettings, AgentEntry } from "./acp-options.ts";
import type { Env, KnownAgent } from "./agents/known-agent.ts";
import { BY_PROVIDER, canonicalAgentId, KNOWN_IDS, knownAgent } from "./agents/known-agents.ts";

/** An agent with its configuration. */
export interface Agent {
  id: string;
  label: string;
  entry: AgentEntry;
  known: KnownAgent | undefined;
}

export interface FoundProgram {
  command: string;
  args: readonly string[];
}

/** The agent that the configuration names, or the only one that it has; undefined when turns choose one. */
export function configuredAgent({ agentId, agents }: AcpSettings): string | undefined {
  const configured = Object.keys(agents);
  return agentId ?? (configured.length === 1 ? configured[0] : undefined);
}

/**
 * The agent of a turn: the policy's, the configured one, the only one, or the one of the model's provider. Throws
 * `config_invalid`.
 */
export function agentFor(
  settings: AcpSettings,
  wanted: string | undefined,
  model: Pick<ModelInfo, "ref" | "provider">,
): Agent {
  const named = wanted ?? configuredAgent(settings) ?? BY_PROVIDER[model.provider];
  if (named === undefined)
    throw new PagurusError(
      "config_invalid",
      `No ACP agent is configured for ${model.ref}; name one in agentRuntime.agentId of the model or in plugins.entries.acp.config.agentId.`,
      { details: { model: model.ref } },
    );
  return agentOf(settings, named);
}

/** Throws `config_invalid` for an id that is neither configured nor known. */
function agentOf({ agents }: AcpSettings, named: string): Agent {
  const id = Object.hasOwn(agents, named) ? named : canonicalAgentId(named);
  const known = knownAgent(id);
  const entry = (Object.hasOwn(agents, id) ? agents[id] : undefined) ?? {};
  if (!known && entry.command === undefined)
    throw new PagurusError(
      "config_invalid",
      `The ACP agent "${named}" is neither known (${KNOWN_IDS.join(", ")}) nor configured with a command; set plugins.entries.acp.config.agents.${named}.command.`,
      { details: { agentId: named } },
    );
  return { id, label: known?.label ?? `The ACP agent "${id}"`, entry, known };
}

/** Every agent that a turn could use. */
export function allAgents(settings: AcpSettings): Agent[] {
  const ids = new Set([...Object.keys(settings.agents), ...KNOWN_IDS]);
  return [...ids].flatMap((id) => {
    const { command } = settings.agents[id] ?? {};
    return command !== undefined || knownAgent(id) ? [agentOf(settings, id)] : [];
  });
}

/** Path of the agent's program, as configured, else from PATH. */
export function findProgram({ id, entry, known }: Agent, env: Env): FoundProgram | { reason: string } {
  const name = entry.command ?? known?.program ?? id;
  const args = entry.args ?? known?.args ?? [];
  const { file, passedOver } = namedProgram(name, { env, path: entry.env?.["PATH"], cwd: entry.cwd });
  if (file !== undefined) return { command: file, args };
  const where = `plugins.entries.acp.config.agents.${id}.command`;
  const remedy =
    known && entry.command === undefined
      ? `install it with \`${known.install}\`, or name its program in ${where}`
      : `correct ${where}`;
  const why = passedOverText(passedOver, where);
  return { reason: `The ACP agent "${id}" cannot be started: \`${name}\` was not found${why}; ${remedy}.` };
}
