/** Every file of a program's home, and what is done with it. */
import { readdirSync, realpathSync, statSync, type Dirent } from "node:fs";
import { join } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import { nextSlice } from "@pagurus/core/platform/pace";
import { takenOf, type Program, type Taken } from "../programs/program.ts";

export interface FoundFile extends Taken {
  program: Program;
  /** In the home, `/` between folders; ends with `/` for a folder none of whose files is kept. */
  name: string;
  /** Absolute. */
  path: string;
}

/** Folders between two pauses. */
const SLICE = 50;

export interface Walk {
  files: FoundFile[];
  /** Folders that were read. */
  folders: string[];
  /** Folders that could not be read. */
  closed: string[];
}

/** Folders that links lead to are read once, under the name that comes first. */
export async function walkHome(program: Program, home: string): Promise<Walk> {
  const walk: Walk = { files: [], folders: [], closed: [] };
  const seen = new Set<string>();
  const open: { path: string; name: string; depth: number }[] = [{ path: home, name: "", depth: 0 }];
  for (let folder = open.pop(); folder; folder = open.pop()) {
    const real = attempt(() => realpathSync.native(folder.path));
    if (real === undefined || seen.has(real)) continue;
    seen.add(real);
    const { path, name, depth } = folder;
    const entries = attempt(() => readdirSync(path, { withFileTypes: true }));
    if (!entries) {
      walk.closed.push(path);
      continue;
    }
    walk.folders.push(path);
    for (const entry of entries) {
      const below = { path: join(path, entry.name), name: name + entry.name, depth: depth + 1 };
      const kind = kindOf(entry, below.path);
      if (kind === "file") walk.files.push(foundFile(program, below.name, below.path));
      if (kind !== "folder" || depth >= (program.depth ?? Infinity)) continue;
      const left = takenOf(program, `${below.name}/x`);
      if (left.take === "no" && left.isUnnamed !== true)
        walk.files.push({ ...left, program, name: `${below.name}/`, path: below.path });
      else open.push({ ...below, name: `${below.name}/` });
    }
    if (walk.folders.length % SLICE === 0) await nextSlice();
  }
  return walk;
}

export function foundFile(program: Program, name: string, path: string): FoundFile {
  return { ...takenOf(program, name), program, name, path };
}

function kindOf(entry: Dirent, path: string): "file" | "folder" | undefined {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "folder";
  if (!entry.isSymbolicLink()) return undefined;
  const target = attempt(() => statSync(path));
  return target?.isFile() ? "file" : target?.isDirectory() ? "folder" : undefined;
}
