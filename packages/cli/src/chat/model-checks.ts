/** Models that a chat can choose, from the configuration as it is now. */
import { loadConfig } from "@pagurus/core/config/load-config";
import { resolveHome } from "@pagurus/core/config/config-paths";
import type { Cli } from "../cli.ts";
import { checkServedModel, usableModels, type ModelCheck } from "../config/config-models.ts";

export interface ModelChecks {
  check(ref: string): Promise<ModelCheck>;
  /** Refs, the most likely first. */
  usable(): string[];
}

/** Throws `config_invalid`. */
export function modelChecks(env: Cli["env"], agentId: string): ModelChecks {
  const { config } = loadConfig({ home: resolveHome(env) });
  return {
    check: (ref) => checkServedModel(ref, config, env, agentId),
    usable: () => usableModels(config, env, agentId),
  };
}
