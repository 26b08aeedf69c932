import { existsSync } from "node:fs";
import { join } from "node:path";
import { configFile, resolveHome } from "@pagurus/core/config/config-paths";
import type { Cli } from "../cli.ts";

/** Whether this home has neither a configuration nor a conversation yet. */
export function isNewHome(env: Cli["env"]): boolean {
  const home = resolveHome(env);
  return !existsSync(configFile(home)) && !existsSync(join(home, "agents"));
}
