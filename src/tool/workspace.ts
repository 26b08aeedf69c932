/** The workspace boundary: where a path that a model wrote really leads, symbolic links followed. */
import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { systemCode, ToolError } from "./tool-error.ts";

export interface WorkspacePath {
  /** Absolute, without symbolic links in the part that exists. */
  readonly path: string;
  /** Relative to the workspace with `/`, or absolute where the path is outside. */
  readonly shown: string;
  readonly inside: boolean;
}

/** The folder that a session works in. */
export interface Workspace {
  /** Absolute and free of symbolic links. */
  readonly root: string;
  /** Follows every link, also one whose target does not exist yet. Throws `ToolError`. */
  locate(given: string): WorkspacePath;
}

/** As the system resolves a link chain at most. */
const MOST_LINKS = 40;

export function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/** The real path of what exists, with the rest that does not exist yet appended. */
function realPath(path: string, links: number): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    const code = systemCode(error);
    if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
  }
  // A link to nothing still decides where a new file would go.
  const target = linkTarget(path);
  if (target !== undefined) {
    if (links >= MOST_LINKS) throw new ToolError(`"${path}" is a chain of too many symbolic links.`);
    return realPath(resolve(realPath(dirname(path), links + 1), target), links + 1);
  }
  const parent = dirname(path);
  return parent === path ? path : join(realPath(parent, links), basename(path));
}

/** Opens a workspace. Throws what the system throws when `cwd` is not a folder that can be entered. */
export function openWorkspace(cwd: string): Workspace {
  const root = realpathSync.native(cwd);
  return {
    root,
    locate(given) {
      if (given.includes("\0")) throw new ToolError("A path must not hold a NUL character.");
      const expanded = given === "~" || given.startsWith("~/") ? join(homedir(), given.slice(1)) : given;
      let path: string;
      try {
        path = realPath(resolve(root, expanded), 0);
      } catch (error) {
        if (error instanceof ToolError) throw error;
        const reason =
          systemCode(error) === "EACCES" ? "permission denied" : (systemCode(error) ?? "unknown");
        throw new ToolError(`The path "${given}" cannot be resolved: ${reason}.`);
      }
      const inside = isInside(root, path);
      const shown = inside ? relative(root, path).split(sep).join("/") || "." : path;
      return { path, shown, inside };
    },
  };
}
