import { existsSync } from "node:fs";
import { isPagurusError } from "@pagurus/contract/errors";
import { loadConfig } from "@pagurus/core/config/load-config";
import { configFile, resolveHome } from "@pagurus/core/config/config-paths";
import { unknownEntries } from "@pagurus/host/plugin/unknown-entries";
import type { Cli } from "../cli.ts";

/** Settings for showing a turn. */
interface TurnSettings {
  /** Warnings about a usable file. */
  warnings: readonly string[];
  /** Whether compactions are shown; `agents.defaults.compaction.notifyUser`. */
  notifyCompactions: boolean;
  /** Whether a chat prints lines on a full terminal too; `chat.plain`. */
  plain: boolean;
}

const NO_SETTINGS: TurnSettings = { warnings: [], notifyCompactions: true, plain: false };

/** Reads the settings. Opening the host reports an unusable file. */
export function turnSettings(cli: Cli): TurnSettings {
  const home = resolveHome(cli.env);
  // Without a file this check is the only cost.
  if (!existsSync(configFile(home))) return NO_SETTINGS;
  try {
    const { config, warnings } = loadConfig({ home });
    return {
      warnings: [...warnings, ...unknownEntries(config, home)],
      notifyCompactions: config.agents?.defaults?.compaction?.notifyUser !== false,
      plain: config.chat?.plain === true,
    };
  } catch (error) {
    // The host reads the same file next and refuses with the same error.
    if (!isPagurusError(error)) throw error;
    return NO_SETTINGS;
  }
}
