import { existsSync, realpathSync } from "node:fs";
import { writeFileAtomic } from "../platform/atomic-files.ts";

/** Rewrites a file whose text is `stored`, which becomes its backup; returns the backup's name. */
export function replaceWithBackup(file: string, stored: string, text: string, now: Date): string {
  const backup = freeName(`${file}.backup-${stamp(now)}`);
  writeFileAtomic(backup, stored);
  // A symbolic link is kept; its target is written.
  writeFileAtomic(realpathSync(file), text);
  return backup;
}

/** `20261122T103000Z`. */
function stamp(date: Date): string {
  return date.toISOString().replace(/[-:]|\.\d+/g, "");
}

function freeName(wanted: string): string {
  let name = wanted;
  for (let copy = 2; existsSync(name); copy += 1) name = `${wanted}-${copy}`;
  return name;
}
