/** Finds keys of `plugins.entries` that name no plugin and so have no effect. */
import {
  BUNDLED_ENGINES,
  BUNDLED_MEMORIES,
  BUNDLED_RUNTIMES,
  isBundledId,
} from "@pagurus/core/config/bundled";
import { proposal } from "@pagurus/core/config/known-keys";
import { formatKeyPath } from "@pagurus/core/config/key-path";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { listPlugins, readListed } from "./listed.ts";

/** One sentence each. Reads the manifests of the plugins only if an entry is not of a bundled part. */
export function unknownEntries(config: PagurusConfig, home: string, known: readonly string[] = []): string[] {
  const named = Object.keys(config.plugins?.entries ?? {}).filter(
    (id) => !isBundledId(id) && !known.includes(id),
  );
  if (named.length === 0) return [];
  const all = listPlugins(config, home);
  const ids: readonly string[] = [
    ...BUNDLED_ENGINES,
    ...BUNDLED_MEMORIES,
    ...BUNDLED_RUNTIMES,
    ...known,
    ...all.map((listed) => readListed(listed, all).id),
  ];
  return named
    .filter((id) => !ids.includes(id))
    .map((id) => {
      const place = formatKeyPath(["plugins", "entries", id]);
      return `${place} names no plugin that is installed or linked; it is not used.${proposal(id, ids)}`;
    });
}
