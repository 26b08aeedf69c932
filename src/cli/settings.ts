import { existsSync } from "node:fs";
import { PagurusError } from "../contract/errors.ts";
import { loadConfig } from "../config/load.ts";
import { configFile, resolveHome } from "../config/paths.ts";
import type { Cli } from "./cli.ts";

/** What showing a turn needs of the configuration. */
interface TurnSettings {
  /** What is wrong in the file without making it unusable. */
  warnings: readonly string[];
  /** Whether compactions are told of; `agents.defaults.compaction.notifyUser`. */
  notifyCompactions: boolean;
}

/** Reads the settings. A file that cannot be used is what opening the host will say. */
export function turnSettings(cli: Cli): TurnSettings {
  const home = resolveHome(cli.env);
  // Without a file, finding that out is all that it costs.
  if (!existsSync(configFile(home))) return { warnings: [], notifyCompactions: true };
  try {
    const { config, warnings } = loadConfig({ home });
    return { warnings, notifyCompactions: config.agents?.defaults?.compaction?.notifyUser !== false };
  } catch (error) {
    // The host reads the same file next and refuses with the same error.
    if (!(error instanceof PagurusError)) throw error;
    return { warnings: [], notifyCompactions: true };
  }
}
