/** Which folder the checkpoints of a working folder are of, and where they are in Pagurus' home. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, sep } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";

/** The folder whose checkpoints a working folder has, absolute and without links, or why it has none. */
export function checkpointRoot(
  cwd: string,
  env: Record<string, string | undefined>,
): { root: string } | { problem: string } {
  const root = attempt(() => realpathSync.native(cwd));
  if (root === undefined) return { problem: `the folder ${cwd} cannot be read` };
  const user = attempt(() => realpathSync.native(env["HOME"] ?? homedir()));
  const isAbove =
    user !== undefined && `${user}${sep}`.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
  return isAbove
    ? { problem: `${root} has the home folder of its user, and such folders have no checkpoints` }
    : { root };
}

/** Folder of Pagurus' home with the checkpoints of a folder. */
export function checkpointFolder(home: string, root: string): string {
  return join(home, "checkpoints", createHash("sha256").update(root).digest("hex").slice(0, 24));
}

export function hasCheckpoints(home: string, root: string): boolean {
  return existsSync(checkpointFolder(home, root));
}

/** Bytes on the disk of the checkpoints of a folder, and of all folders. */
export function checkpointBytes(home: string, root: string | undefined): { folder: number; all: number } {
  const above = join(home, "checkpoints");
  const all = (attempt(() => readdirSync(above)) ?? []).map((name) => folderBytes(join(above, name)));
  const folder = root === undefined ? 0 : folderBytes(checkpointFolder(home, root));
  return { folder, all: all.reduce((sum, bytes) => sum + bytes, 0) };
}

function folderBytes(folder: string): number {
  const names = attempt(() => readdirSync(folder)) ?? [];
  return names.reduce((sum, name) => sum + (attempt(() => statSync(join(folder, name)).size) ?? 0), 0);
}
