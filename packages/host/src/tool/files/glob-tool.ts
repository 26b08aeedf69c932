import { isInside } from "@pagurus/core/platform/inside";
import { relative, sep } from "node:path";
import { numberArgument, stringArgument } from "../arguments.ts";
import { globMatcher } from "./glob-pattern.ts";
import { textOutcome, type HostTool } from "../host-tool.ts";
import { Pace } from "@pagurus/core/platform/pace";
import { ToolError } from "../tool-error.ts";
import { walkFiles } from "./folder-walk.ts";
import type { Workspace } from "../places/workspace-boundary.ts";

const DEFAULT_LIMIT = 200;
const MOST_RESULTS = 2_000;

/** Path for the model: relative to the workspace if inside. */
export function shownPath(workspace: Workspace, path: string): string {
  return isInside(workspace.root, path) ? relative(workspace.root, path).split(sep).join("/") : path;
}

/** A test of absolute paths below `folder`; a pattern without a slash matches at any depth. */
export function belowMatcher(folder: string, pattern: string): (path: string) => boolean {
  const clean = pattern.replace(/^(?:\.\/)+/, "");
  if (clean.startsWith("/") || clean.split("/").includes("..")) {
    throw new ToolError(`The pattern "${pattern}" must be relative; give the folder as "path".`);
  }
  const matches = globMatcher(clean.includes("/") ? clean : `**/${clean}`);
  return (path) => matches(relative(folder, path).split(sep).join("/"));
}

export const globTool: HostTool = {
  onlyReads: true,
  name: "glob",
  description:
    "List files by pattern (`*.ts`, `src/**`), sorted; leaves out what git ignores and node_modules.",
  parameters: {
    type: "object",
    properties: {
      pattern: { type: "string" },
      path: { type: "string", description: "Folder, default the workspace" },
      limit: { type: "integer", minimum: 1, maximum: MOST_RESULTS },
    },
    required: ["pattern"],
    additionalProperties: false,
  },
  plan(params, workspace) {
    const at = workspace.locate(stringArgument(params, "path") ?? ".");
    const pattern = stringArgument(params, "pattern") ?? "";
    const limit = numberArgument(params, "limit") ?? DEFAULT_LIMIT;
    const matches = belowMatcher(at.path, pattern);
    return {
      access: { kind: "read", path: at },
      async run({ signal, hidden }) {
        const found: string[] = [];
        let more = 0;
        const pace = new Pace(signal);
        for await (const path of walkFiles(at.path, signal)) {
          if (pace.due) await pace.rest();
          if (!matches(path) || hidden(path)) continue;
          if (found.length < limit) found.push(shownPath(workspace, path));
          else more += 1;
        }
        if (found.length === 0) return textOutcome(`No file matches "${pattern}".`, { files: 0 });
        const note = more > 0 ? `\n[${more} more; narrow the pattern or raise "limit"]` : "";
        return textOutcome(found.join("\n") + note, { files: found.length + more });
      },
    };
  },
};
