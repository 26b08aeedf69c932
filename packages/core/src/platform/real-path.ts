import { realpathSync } from "node:fs";
import { attempt } from "../data/attempt.ts";

/** The path without symbolic links; the path itself if it does not exist. */
export function realPath(path: string): string {
  return attempt(() => realpathSync.native(path)) ?? path;
}
