/** Rewrites outdated settings of a configuration in their current form; a backup of the file is kept beside it. */
import { toPagurusError } from "@pagurus/contract/errors";
import { lineDiff } from "@pagurus/importers/old-keys/diff";
import { repairText, type Repaired } from "@pagurus/importers/old-keys/legacy-repair";
import { readConfigText } from "@pagurus/core/config/load-config";
import { replaceWithBackup } from "@pagurus/core/config/replace-with-backup";
import { configFile } from "@pagurus/core/config/config-paths";
import type { Finding } from "./finding.ts";

/**
 * Calls `show` with the changed lines before anything is written. A second call changes nothing. Never throws: an error is a
 * finding.
 */
export function repairConfigFile(
  home: string,
  show: (diff: readonly string[]) => void,
  now: () => Date = () => new Date(),
): Finding[] {
  const file = configFile(home);
  try {
    const stored = readConfigText(file);
    const repaired = stored === undefined ? undefined : repairable(stored, file);
    if (stored === undefined || !repaired || repaired.repairs.length === 0) return [];
    const diff = lineDiff(repaired.before, repaired.after);
    show(diff);
    if (readConfigText(file) !== stored) {
      const detail = `${file} was written by another program meanwhile, so it is unchanged.`;
      return [{ level: "error", check: "config", detail, fix: "Run pagurus doctor --fix again." }];
    }
    const backup = replaceWithBackup(file, stored, repaired.after, now());
    const detail = `${file} was rewritten in ${repaired.repairs.length} places; the backup is ${backup}.`;
    return [
      { level: "ok", check: "config", detail, diff },
      ...repaired.repairs.map((what): Finding => ({
        level: "ok",
        check: "config",
        detail: `Rewritten: ${what}`,
      })),
    ];
  } catch (error) {
    return [{ level: "error", check: "config", detail: toPagurusError(error).message }];
  }
}

/** Undefined for a text that is not JSON5: the file's own check reports the problem. */
function repairable(stored: string, file: string): Repaired | undefined {
  try {
    return repairText(stored, file);
  } catch (error) {
    const { details } = toPagurusError(error);
    if (details["line"] !== undefined) return undefined;
    throw error;
  }
}
