import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, resolve } from "node:path";
import { attempt } from "../data/attempt.ts";

/** Homes of this user: the system's, and the one that the environment names. Absolute, by their names and without links. */
export function homesOf(env: Readonly<Record<string, string | undefined>>): string[] {
  // The system may know no home of this user.
  const homes = [attempt(() => homedir()), env["HOME"]].filter(
    (home): home is string => home !== undefined && isAbsolute(home),
  );
  const found = homes.flatMap((home) => [
    resolve(home),
    attempt(() => realpathSync.native(home)) ?? resolve(home),
  ]);
  return [...new Set(found)].filter((home) => dirname(home) !== home);
}
