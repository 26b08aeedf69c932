/** Writes out the workspaces that OpenClaw uses for agents that name none: here such an agent would have no workspace. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expandPath } from "@pagurus/core/config/config-paths";
import { formatKeyPath, type KeyPath } from "@pagurus/core/config/key-path";
import { filledString, listOf, recordOf } from "@pagurus/core/data/record-fields";
import type { ConfigDraft } from "./config-draft.ts";
import { defaultAgentOf } from "./default-agent.ts";

/** `home`: OpenClaw's. `theirs`: its configuration, as read. */
export function takeWorkspaces(draft: ConfigDraft, home: string, theirs: unknown): void {
  const agents = listOf(draft.at(["agents", "list"])).map(recordOf);
  const common = filledString(draft.at(["agents", "defaults", "workspace"]));
  const ids = agents.map(({ id }) => filledString(id)?.toLowerCase() ?? "");
  const owner = defaultAgentOf(theirs);
  const set = (path: KeyPath, folder: string): void => {
    if (!existsSync(folder)) return;
    draft.set(path, folder, { path: folder, as: formatKeyPath(path) });
  };
  for (const [at, id] of ids.entries()) {
    if (agents[at]?.["workspace"] !== undefined || id === "" || id === owner) continue;
    const folder = common === undefined ? join(home, `workspace-${id}`) : join(absolute(common), id);
    set(["agents", "list", at, "workspace"], folder);
  }
  if (common !== undefined) return;
  const at = ids.indexOf(owner);
  if (at >= 0 && agents[at]?.["workspace"] === undefined)
    set(["agents", "list", at, "workspace"], join(home, "workspace"));
  if (at < 0 && draft.takes(["agents", "defaults", "workspace"]))
    set(["agents", "defaults", "workspace"], join(home, "workspace"));
}

function absolute(folder: string): string {
  return expandPath(folder, homedir());
}
