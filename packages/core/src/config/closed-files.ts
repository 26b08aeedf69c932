import { homedir } from "node:os";
import { join } from "node:path";
import { configFile, expandPath } from "./config-paths.ts";
import type { PagurusConfig } from "./config-types.ts";
import { currentFolder } from "../platform/surroundings.ts";

/** Folder of compiled code, as in bin/start.js. Absolute. */
export function compiledFolder(env: Record<string, string | undefined>): string {
  const cache = env["XDG_CACHE_HOME"] || join(env["HOME"] ?? homedir(), ".cache");
  return expandPath(join(cache, "pagurus"), currentFolder());
}

/**
 * Files that no tool may touch besides the home: the configuration in use, wherever it is, the files it takes keys from, and
 * the compiled code of the next start. Absolute. `env` determines `~`.
 */
export function closedFiles(
  config: PagurusConfig,
  home: string,
  env: Record<string, string | undefined>,
): string[] {
  const user = env["HOME"] ?? homedir();
  const keys = Object.values(config.models?.providers ?? {}).flatMap(({ apiKey }) =>
    typeof apiKey === "object" ? [expandPath(apiKey.file.replace(/^~(?=\/)/, user), currentFolder())] : [],
  );
  return [configFile(home), ...keys, compiledFolder(env)];
}
