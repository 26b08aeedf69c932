/** Distinguishes changes of `package.json` and the like that run nothing new, such as a dependency, from those of scripts and programs. */
import { basename } from "node:path";
import { readRegularFile } from "@pagurus/core/platform/regular-file";
import { isProjectFile, sameProjectFile } from "../places/project-files.ts";

/** False for any other file, and where the change cannot be read. `changed` makes the new text from the old one. */
export function isHarmlessPackage(path: string, changed: (before: string) => string): boolean {
  const name = basename(path);
  if (!isProjectFile(name.toLowerCase())) return false;
  let before: string | undefined;
  try {
    before = readRegularFile(path);
  } catch {
    // A new file.
    before = undefined;
  }
  try {
    return sameProjectFile(name, before, changed(before ?? ""));
  } catch {
    // The edit does not fit; the call itself reports that.
    return false;
  }
}
