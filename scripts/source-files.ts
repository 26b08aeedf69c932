/** Finding the project's own files. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Files under `folder` of `root` whose name ends in `suffix`, relative to `root`, sorted. None where it is absent. */
export function filesUnder(root: string, folder: string, suffix: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(suffix))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length).replace(/^\//, ""))
    .filter((file) => !file.includes("node_modules/"))
    .toSorted();
}

/** The page runs in a browser: it is compiled and checked by itself. */
const PAGE = "inspector";

/** The folders of the program's sources, one of each package, without those of the page; `src` of a commit before the packages. */
export function sourceFolders(root: string): string[] {
  const names = packageNames(root);
  if (names.length === 0) return ["src"];
  return names.filter((name) => name !== PAGE).map((name) => `packages/${name}/src`);
}

/** The packages of the project, by the names of their folders. */
export function packageNames(root: string): string[] {
  const packages = join(root, "packages");
  return existsSync(packages) ? readdirSync(packages).toSorted() : [];
}

/** The program's sources, as `filesUnder` names them. */
export function sourceFiles(root: string): string[] {
  return sourceFolders(root).flatMap((folder) => filesUnder(root, folder, ".ts"));
}

/** Folders under `folder` of `root`, relative to `root`, at any depth. */
export function foldersUnder(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length).replace(/^\//, ""))
    .filter((name) => !name.includes("node_modules"))
    .toSorted();
}
