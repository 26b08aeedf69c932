/**
 * Other contents of the workspaces of an OpenClaw home: skills, and files that describe the agent. Skills become folders of
 * `skills.paths`; the rest is reported.
 */
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expandPath } from "@pagurus/core/config/config-paths";
import { recordOf, recordsOf } from "@pagurus/core/data/record-fields";

export interface WorkspaceParts {
  /** Folders that hold skills; absolute. */
  skills: string[];
  /** A sentence each. */
  notes: string[];
}

/** Files that OpenClaw adds to each prompt and this host does not read. */
const PROMPT_FILES = ["SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md"];

/** Never throws: an unreadable part is reported. `config`: with the workspaces of its agents, as ours has them. */
export function workspaceParts(home: string, config: unknown): WorkspaceParts {
  const parts: WorkspaceParts = { skills: [], notes: [] };
  for (const folder of workspacesOf(home, config)) {
    if (hasSkills(join(folder, "skills"))) parts.skills.push(join(folder, "skills"));
    const files = PROMPT_FILES.filter((name) => existsSync(join(folder, name)));
    if (files.length > 0)
      parts.notes.push(
        `${files.join(", ")} of ${folder} are not read here; put what the agent should know into AGENTS.md of that folder.`,
      );
  }
  if (hasSkills(join(home, "skills"))) parts.skills.push(join(home, "skills"));
  return parts;
}

/** Workspaces of the defaults and of each agent; OpenClaw's own default where none is named. */
function workspacesOf(home: string, config: unknown): string[] {
  const agents = recordOf(recordOf(config)["agents"]);
  const named = [recordOf(agents["defaults"]), ...recordsOf(agents["list"])].flatMap(({ workspace }) =>
    typeof workspace === "string" && workspace !== "" ? expandPath(workspace, homedir()) : [],
  );
  return [...new Set([...named, join(home, "workspace")])].filter((folder) => existsSync(folder));
}

function hasSkills(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => existsSync(join(folder, name, "SKILL.md")));
  } catch {
    // The folder does not exist.
    return false;
  }
}
