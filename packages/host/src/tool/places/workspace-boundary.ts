/** The workspace boundary: resolves a model's path to its real location, symbolic links followed. */
import { isInside } from "@pagurus/core/platform/inside";
import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { systemCode, ToolError } from "../tool-error.ts";

export interface WorkspacePath {
  /** Absolute, without symbolic links in the existing part. */
  readonly path: string;
  /** Relative to the workspace with `/`, or absolute where the path is outside. */
  readonly shown: string;
  readonly inside: boolean;
}

/** The folder that a session works in. */
export interface Workspace {
  /** Absolute and free of symbolic links. */
  readonly root: string;
  /** Follows every link, including one whose target does not exist yet. Throws `ToolError`. */
  locate(written: string): WorkspacePath;
}

/** The system's limit of a link chain. */
const MOST_LINKS = 40;

/** The folders above `path` and below `root`, outermost first; none where `path` is not in `root`. */
export function foldersBetween(root: string, path: string): string[] {
  if (!isInside(root, path)) return [];
  const names = relative(root, path).split(sep).slice(0, -1);
  return names.map((_, index) => join(root, ...names.slice(0, index + 1)));
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/** The real path of the existing part, with the missing rest appended. */
function realPath(path: string, links: number): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    const code = systemCode(error);
    if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
  }
  // A dangling link still determines where a new file would go.
  const target = linkTarget(path);
  if (target !== undefined) {
    if (links >= MOST_LINKS) throw new ToolError(`"${path}" is a chain of too many symbolic links.`);
    return realPath(resolve(realPath(dirname(path), links + 1), target), links + 1);
  }
  const parent = dirname(path);
  return parent === path ? path : join(realPath(parent, links), basename(path));
}

/** An absolute path with every link followed, even if its end does not exist. Throws the system's errors, and `ToolError`. */
export function withoutLinks(path: string): string {
  return realPath(path, 0);
}

/** The absolute path that a model's path names, links and all. */
export function writtenPath(root: string, written: string): string {
  const isOfHome = written === "~" || written.startsWith("~/");
  return resolve(root, isOfHome ? join(homedir(), written.slice(1)) : written);
}

/** Opens a workspace. Throws the system's error when `cwd` is not an accessible folder. */
export function openWorkspace(cwd: string): Workspace {
  const root = realpathSync.native(cwd);
  return {
    root,
    locate(written) {
      if (written.includes("\0")) throw new ToolError("A path must not hold a NUL character.");
      let path: string;
      try {
        path = withoutLinks(writtenPath(root, written));
      } catch (error) {
        if (error instanceof ToolError) throw error;
        const reason =
          systemCode(error) === "EACCES" ? "permission denied" : (systemCode(error) ?? "unknown");
        throw new ToolError(`The path "${written}" cannot be resolved: ${reason}.`);
      }
      const inside = isInside(root, path);
      const shown = inside ? relative(root, path).split(sep).join("/") || "." : path;
      return { path, shown, inside };
    },
  };
}
