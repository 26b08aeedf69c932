import { BUNDLED_CHANNELS, isBundledChannel } from "@pagurus/core/config/bundled";
import { formatKeyPath } from "@pagurus/core/config/key-path";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { toPagurusError } from "@pagurus/contract/errors";
import { checkPluginConfig } from "@pagurus/host/plugin/plugin-config-check";
import { unknownEntries } from "@pagurus/host/plugin/unknown-entries";
import { entryOf, hasPlugins, listPlugins, readListed, stateOf } from "@pagurus/host/plugin/listed";

/** Channels of a kind that is not bundled. */
function unknownChannels({ channels = {} }: PagurusConfig): string[] {
  return Object.entries(channels).flatMap(([id, { kind }]) => {
    if (kind === undefined || isBundledChannel(kind)) return [];
    const place = formatKeyPath(["channels", id, "kind"]);
    return `${place} is ${JSON.stringify(kind)}, and no plugin is enabled that could bring this kind; use one of ${BUNDLED_CHANNELS.join(", ")}.`;
  });
}

/** Checks the settings of enabled plugins by their schemas; none of their code is run. */
export function checkPluginSettings(
  config: PagurusConfig,
  home: string,
): { problems: string[]; warnings: string[] } {
  const found: { problems: string[]; warnings: string[] } = { problems: [], warnings: [] };
  found.warnings.push(...unknownEntries(config, home));
  const all = listPlugins(config, home);
  // A plugin can bring kinds of its own, which only its code names.
  if (!hasPlugins(config, home)) found.warnings.push(...unknownChannels(config));
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
