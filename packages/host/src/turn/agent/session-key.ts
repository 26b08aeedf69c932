/** Session key for callers that name none, one rule for every channel: sessions belong to folders. */
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { isRepository } from "@pagurus/core/platform/repository";
import type { AgentHost } from "./agent-host.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";

/** The one session key of `session.scope: "main"`. */
export const MAIN = "main";

interface Asked {
  sessionKey?: string | undefined;
  cwd?: string | undefined;
}

/** The workspace of a folder: the root of its repository, else the folder itself, as a canonical path. */
export function workspaceOf(cwd: string): string {
  const folder = realFolder(cwd);
  for (let at = folder; ; at = dirname(at)) {
    if (isRepository(at)) return at;
    if (dirname(at) === at) return folder;
  }
}

function realFolder(cwd: string): string {
  try {
    return realpathSync(cwd);
  } catch {
    // A folder that no longer exists is refused by the turn.
    return cwd;
  }
}

/** All folders share one session. */
export function sharesMain({ session }: PagurusConfig): boolean {
  return session?.scope === "main" || session?.scope === "global";
}

/** Undefined when all folders share one session. */
export function folderOf(host: AgentHost, cwd: string | undefined): string | undefined {
  if (sharesMain(host.config)) return undefined;
  return workspaceOf(cwd ?? host.settings.workspace ?? currentFolder());
}

/** The key of a request: its own, else that of the folder's last session, else that of the folder's first. */
export function sessionKeyOf(host: AgentHost, { sessionKey, cwd }: Asked): string {
  if (sessionKey !== undefined) return sessionKey;
  const folder = folderOf(host, cwd);
  if (folder === undefined) return MAIN;
  return lastOf(host, folder)?.sessionKey ?? host.store.firstKey(folder);
}

/** The folder's last session. Skips sessions without messages, except the one after `/new`. */
export function lastOf(host: AgentHost, folder: string): SessionRecord | undefined {
  return host.store.inFolder(folder).find(({ entryCount, generation }) => entryCount > 0 || generation > 1);
}
