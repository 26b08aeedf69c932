/** Packs that are written again without deleted files take the place of the old ones. */
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fsyncDir } from "@pagurus/core/platform/atomic-files";

export const NEW_PACKS = "packs.new";
export const OLD_PACKS = "packs.old";

/** Ends a deletion that was interrupted: before the old packs were put aside nothing is deleted, after it all is. */
export function finishForgetting(folder: string): void {
  const [packs, next, old] = ["packs", NEW_PACKS, OLD_PACKS].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  if (existsSync(old) && !existsSync(packs)) renameSync(next, packs);
  fsyncDir(folder);
  rmSync(old, { recursive: true, force: true });
  rmSync(next, { recursive: true, force: true });
}
