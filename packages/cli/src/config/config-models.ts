import { isPagurusError } from "@pagurus/contract/errors";
import type { AgentConfig, ModelChoice, PagurusConfig } from "@pagurus/core/config/config-types";
import { agentSettings, DEFAULT_AGENT_ID } from "@pagurus/core/config/agent-settings";
import { aliasedRef, repeatedAliases } from "@pagurus/core/config/model-aliases";
import { resolveModel } from "@pagurus/core/model/resolve";
import type { Cli } from "../cli.ts";

/** Result of a model check: `problem` refuses every run, `warning` (a missing key) may be irrelevant yet. */
interface ModelCheck {
  problem?: string;
  warning?: string;
}

/** Checks whether a ref or alias, also of the agent's own, names a usable model. Uses no network. */
export function checkModel(
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
