/** Renames a damaged index, for inspection. It contains text of the sessions, so it is removed when a session is deleted. */
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Renames the damaged index and its related files; returns the new name. */
export function setAsideIndex(file: string): string {
  let aside = `${file}.damaged`;
  for (let copy = 2; existsSync(aside); copy += 1) aside = `${file}.damaged-${copy}`;
  renameSync(file, aside);
  for (const part of ["-wal", "-shm"]) rmSync(file + part, { force: true });
  return aside;
}

export function damagedIndexes(file: string): string[] {
  const folder = dirname(file);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${basename(file)}.damaged`))
    .map((name) => join(folder, name));
}
