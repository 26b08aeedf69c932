/** Rewrites what a configuration says in words of earlier times; a copy of the file as it was stays beside it. */
import { existsSync, realpathSync } from "node:fs";
import { toPagurusError } from "../contract/errors.ts";
import { lineDiff } from "../config/legacy/diff.ts";
import { repairText, type Repaired } from "../config/legacy/repair.ts";
import { readConfigText } from "../config/load.ts";
import { configFile } from "../config/paths.ts";
import { writeFileAtomic } from "../platform/files.ts";
import type { Finding } from "./finding.ts";

/**
 * `show` is told the lines that change before anything is written. A second call changes nothing. Never throws: what
 * goes wrong is a finding.
 */
export function repairConfigFile(
  home: string,
  show: (diff: readonly string[]) => void,
  now: () => Date = () => new Date(),
): Finding[] {
  const file = configFile(home);
  try {
    const stored = readConfigText(file);
    const repaired = stored === undefined ? undefined : mendable(stored, file);
    if (stored === undefined || !repaired || repaired.mended.length === 0) return [];
    const diff = lineDiff(repaired.before, repaired.after);
    show(diff);
    if (readConfigText(file) !== stored) {
      const detail = `${file} was written by another program meanwhile, so it was left as it is.`;
      return [{ level: "error", check: "config", detail, fix: "Run pagurus doctor --fix again." }];
    }
    const backup = replaceConfig(file, stored, repaired.after, now());
    const detail = `${file} was rewritten in ${repaired.mended.length} places; as it was, it is ${backup}.`;
    return [
      { level: "ok", check: "config", detail, diff },
      ...repaired.mended.map((what): Finding => ({
        level: "ok",
        check: "config",
        detail: `Rewritten: ${what}`,
      })),
    ];
  } catch (error) {
    return [{ level: "error", check: "config", detail: toPagurusError(error).message }];
  }
}

/** Undefined for a text that is not JSON5: the check of the file tells what is wrong with it. */
function mendable(stored: string, file: string): Repaired | undefined {
  try {
    return repairText(stored, file);
  } catch (error) {
    const { details } = toPagurusError(error);
    if (details["line"] !== undefined) return undefined;
    throw error;
  }
}

/** Writes the file anew; answers the name of the copy of what it was. */
export function replaceConfig(file: string, stored: string, text: string, now: Date): string {
  const backup = freeName(`${file}.backup-${stamp(now)}`);
  writeFileAtomic(backup, stored);
  // A file kept elsewhere and linked here stays there.
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
