import { isPagurusError } from "../../contract/errors.ts";
import type { PagurusConfig } from "../../config/config-types.ts";
import { resolveModel } from "../../model/resolve.ts";
import type { Cli } from "../cli.ts";

/** Result of a model check: `problem` refuses every run, `warning` (a missing key) may be irrelevant yet. */
interface ModelCheck {
  problem?: string;
  warning?: string;
}

/** Checks whether a ref names a usable model. Uses no network. */
export function checkModel(ref: string, config: PagurusConfig, env: Cli["env"]): ModelCheck {
  try {
    resolveModel(ref, config, env);
    return {};
  } catch (error) {
    if (!isPagurusError(error)) throw error;
    return error.code === "credential_missing" ? { warning: error.message } : { problem: error.message };
  }
}

/** Every model ref that a configuration uses for turns and summaries, with its key. */
function configuredRefs({ agents }: PagurusConfig): [key: string, ref: string][] {
  const refs: [string, string][] = [];
  const add = (key: string, model: string | { primary: string } | undefined): void => {
    if (typeof model === "string") refs.push([key, model]);
    else if (model) refs.push([`${key}.primary`, model.primary]);
  };
  add("agents.defaults.model", agents?.defaults?.model);
  add("agents.defaults.compaction.model", agents?.defaults?.compaction?.model);
  for (const [index, agent] of (agents?.list ?? []).entries())
    add(`agents.list[${index}].model`, agent.model);
  return refs;
}

/** Unusable model refs of a configuration, as sentences that begin with their key. */
export function checkModels(
  config: PagurusConfig,
  env: Cli["env"],
): { problems: string[]; warnings: string[] } {
  const problems: string[] = [];
  const warnings: string[] = [];
  for (const [key, ref] of configuredRefs(config)) {
    const { problem, warning } = checkModel(ref, config, env);
    if (problem !== undefined) problems.push(`${key}: ${problem}`);
    if (warning !== undefined) warnings.push(`${key}: ${warning}`);
  }
  return { problems, warnings };
}
