import { isPagurusError } from "@pagurus/contract/errors";
import type { AgentConfig, ModelChoice, PagurusConfig } from "@pagurus/core/config/config-types";
import { agentSettings, DEFAULT_AGENT_ID } from "@pagurus/core/config/agent-settings";
import { aliasedRef, repeatedAliases } from "@pagurus/core/config/model-aliases";
import { plural } from "@pagurus/core/data/plain-numbers";
import { nearest } from "@pagurus/core/platform/nearest";
import { servedModels } from "@pagurus/core/model/discover";
import { factsAssumed, knownRefs, resolveModel } from "@pagurus/core/model/resolve";
import type { Cli } from "../cli.ts";

/** Result of a model check: `problem` refuses every run, `warning` (a missing key) may be irrelevant yet. */
export interface ModelCheck {
  problem?: string;
  /** The provider answers, and its list lacks the id. */
  isUnlisted?: true;
  warning?: string;
}

/** Checks whether a ref or alias, also of the agent's own, names a usable model. Uses no network. */
function checkModel(
  name: string,
  config: PagurusConfig,
  env: Cli["env"],
  agentId: string = DEFAULT_AGENT_ID,
): ModelCheck {
  try {
    const ref = name.includes("/") ? undefined : aliasedRef(name, agentSettings(config, agentId).models);
    resolveModel(ref ?? name, config, env);
    return {};
  } catch (error) {
    if (!isPagurusError(error)) throw error;
    return error.code === "credential_missing" ? { warning: error.message } : { problem: error.message };
  }
}

/**
 * As `checkModel`, and refuses an id that the provider's own list lacks, with the nearest one. Asks the provider only about an id that is
 * in no catalog and no configuration.
 */
export async function checkServedModel(
  name: string,
  config: PagurusConfig,
  env: Cli["env"],
  agentId?: string,
): Promise<ModelCheck> {
  const found = checkModel(name, config, env, agentId);
  if (found.problem !== undefined || found.warning !== undefined) return found;
  if (!name.includes("/") || !factsAssumed(name, config)) return found;
  const provider = name.slice(0, name.indexOf("/"));
  const id = name.slice(provider.length + 1);
  if (config.models?.providers?.[provider]?.models?.some((model) => model.id === id)) return found;
  const ids = await servedModels(name, { config, env });
  if (!ids || ids.includes(id)) return found;
  const [near] = nearest(id, ids);
  const hint = near === undefined ? "" : ` Did you mean ${provider}/${near}?`;
  return {
    isUnlisted: true,
    problem: `${provider} lists ${plural(ids.length, "model")}, and ${id} is not one of them.${hint}`,
  };
}

/** Refs of the models that can be used now: in a configuration or catalog, with their keys; those of configurations first. */
export function usableModels(config: PagurusConfig, env: Cli["env"], agentId?: string): string[] {
  const configured = configuredRefs(config).map(({ ref }) => ref);
  const all = [...new Set([...configured, ...knownRefs(config).toReversed()])];
  return all.filter((ref) => {
    const { problem, warning } = checkModel(ref, config, env, agentId);
    return problem === undefined && warning === undefined;
  });
}

interface ConfiguredRef {
  key: string;
  ref: string;
  /** A fallback that cannot be used is skipped and refuses no run. */
  isFallback: boolean;
  agentId: string;
}

/** Every model ref that a configuration uses for turns and summaries, with its key. */
function configuredRefs({ agents }: PagurusConfig): ConfiguredRef[] {
  const refs: ConfiguredRef[] = [];
  const add = (key: string, model: ModelChoice | undefined, agentId: string = DEFAULT_AGENT_ID): void => {
    if (typeof model === "string") refs.push({ key, ref: model, isFallback: false, agentId });
    if (typeof model !== "object") return;
    refs.push({ key: `${key}.primary`, ref: model.primary, isFallback: false, agentId });
    for (const [at, ref] of (model.fallbacks ?? []).entries())
      refs.push({ key: `${key}.fallbacks[${at}]`, ref, isFallback: true, agentId });
  };
  add("agents.defaults.model", agents?.defaults?.model);
  add("agents.defaults.compaction.model", agents?.defaults?.compaction?.model);
  for (const [index, agent] of (agents?.list ?? []).entries())
    add(`agents.list[${index}].model`, agent.model, agent.id);
  return refs;
}

/** Aliases that several models have, of which only one can be meant; a sentence each. */
function sharedAliases({ agents }: PagurusConfig): string[] {
  const places: [string, AgentConfig["models"]][] = [["agents.defaults", agents?.defaults?.models]];
  for (const [at, { models }] of (agents?.list ?? []).entries()) places.push([`agents.list[${at}]`, models]);
  return places.flatMap(([place, models]) =>
    repeatedAliases(models).map(
      ({ alias, refs }) =>
        `${place}.models: the alias "${alias}" names ${refs.join(" and ")}; it means ${refs[0]}.`,
    ),
  );
}

/** Sentences about the refs at this key or below it; asks a provider about an id that only its own list can have. */
export async function refProblems(key: string, config: PagurusConfig, env: Cli["env"]): Promise<string[]> {
  const refs = configuredRefs(config).filter((each) => each.key === key || each.key.startsWith(`${key}.`));
  const checks = await Promise.all(
    refs.map(({ ref, agentId }) => checkServedModel(ref, config, env, agentId)),
  );
  return checks.flatMap(({ problem, warning }) => problem ?? warning ?? []);
}

/** Unusable model refs and repeated aliases of a configuration, as sentences that begin with their key. */
export function checkModels(
  config: PagurusConfig,
  env: Cli["env"],
): { problems: string[]; warnings: string[] } {
  const problems: string[] = [];
  const warnings: string[] = sharedAliases(config);
  for (const { key, ref, isFallback, agentId } of configuredRefs(config)) {
    const { problem, warning } = checkModel(ref, config, env, agentId);
    if (problem !== undefined) (isFallback ? warnings : problems).push(`${key}: ${problem}`);
    if (warning !== undefined) warnings.push(`${key}: ${warning}`);
  }
  return { problems, warnings };
}
