import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { toPagurusError } from "@pagurus/contract/errors";
import { checkPluginConfig } from "@pagurus/host/plugin/plugin-config-check";
import { unknownEntries } from "@pagurus/host/plugin/unknown-entries";
import { entryOf, listPlugins, readListed, stateOf } from "@pagurus/host/plugin/listed";

/** Checks the settings of enabled plugins by their schemas; none of their code is run. */
export function checkPluginSettings(
  config: PagurusConfig,
  home: string,
): { problems: string[]; warnings: string[] } {
  const found: { problems: string[]; warnings: string[] } = { problems: [], warnings: [] };
  found.warnings.push(...unknownEntries(config, home));
  const all = listPlugins(config, home);
  for (const listed of all) {
    const plugin = readListed(listed, all);
    if (stateOf(config, plugin) !== "enabled") continue;
    const { id, entry, error } = plugin;
    if (!entry) found.problems.push(toPagurusError(error).message);
    if (!entry?.manifest) continue;
    const verdict = checkPluginConfig(entry.manifest, entryOf(config, id)?.config);
    found.problems.push(...verdict.problems);
    found.warnings.push(...verdict.warnings);
  }
  return found;
}
