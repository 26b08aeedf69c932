import type { PagurusConfig } from "../../config/config-types.ts";
import { toPagurusError } from "../../contract/errors.ts";
import { checkPluginConfig } from "../../plugin/plugin-config-check.ts";
import { unknownEntries } from "../../plugin/unknown-entries.ts";
import { entryOf, listPlugins, readListed, stateOf } from "../../plugin/listed.ts";

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
