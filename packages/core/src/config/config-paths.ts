/** Paths of the home folder and its files. Source: the design's "Where things live for a user". */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { currentFolder } from "../platform/surroundings.ts";

export const AGENT_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** Absolute path of the home folder: `PAGURUS_HOME`, else `~/.pagurus`. */
export function resolveHome(env: Record<string, string | undefined>): string {
  const named = env["PAGURUS_HOME"];
  return named ? expandPath(named, currentFolder()) : join(homedir(), ".pagurus");
}

export function configFile(home: string): string {
  return join(home, "pagurus.json");
}

/**
 * Folder of one agent. Ids that differ in case only share it, as they would on a case-insensitive file system. Throws
 * `usage_invalid` for an id that is not a plain name.
 */
export function agentDir(home: string, agentId: string): string {
  if (!AGENT_ID_PATTERN.test(agentId)) {
    throw new PagurusError(
      "usage_invalid",
      `The agent id ${JSON.stringify(agentId)} is not valid; use 1 to 64 letters, digits, "-" and "_", starting with a letter or digit.`,
      { details: { agentId } },
    );
  }
  return join(home, "agents", agentId.toLowerCase());
}

/** A user's path as an absolute one: `~` is the user's home folder, a relative one starts at `base`. */
export function expandPath(path: string, base: string): string {
  if (path === "~") return homedir();
  if (path.startsWith("~/")) return join(homedir(), path.slice(2));
  return resolve(base, path);
}
