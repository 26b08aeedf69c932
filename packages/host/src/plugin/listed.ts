/** Lists the plugins to load: the installed ones and those of `plugins.load.paths`, and whether each is enabled. */
import { existsSync } from "node:fs";
import { PagurusError } from "@pagurus/contract/errors";
import { expandPath } from "@pagurus/core/config/config-paths";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { fallbackPluginId, findPluginEntry, type PluginEntry } from "./plugin-entry.ts";
import { installsFile, packageFolder, readInstalls, type InstallRecord } from "./installs.ts";

/** Origin of a plugin: `pagurus plugins install`, or a path in the configuration. */
export type PluginOrigin = "installed" | "linked";

/** Whether a plugin is loaded, or what prevents it. */
export type PluginState = "enabled" | "disabled" | "denied" | "not allowed";

export interface ListedPlugin {
  /** File or folder. */
  path: string;
  origin: PluginOrigin;
  /** Of an installed one. */
  record?: InstallRecord;
}

/** A listed plugin with its entry, or the reason why that cannot be read. */
export interface ReadPlugin extends ListedPlugin {
  id: string;
  entry?: PluginEntry;
  error?: unknown;
}

/**
 * Reads the entry of a listed plugin. The id of an unreadable link is the name of its folder or file, or its path if that name
 * is taken: disabling it must not disable another. Never throws.
 */
export function readListed(plugin: ListedPlugin, all: readonly ListedPlugin[]): ReadPlugin {
  const { record, path } = plugin;
  try {
    const entry = findPluginEntry(path);
    return { ...plugin, id: record?.id ?? entry.id, entry };
  } catch (error) {
    const name = fallbackPluginId(path);
    const taken = all.some((other) => other.path !== path && nameOf(other) === name);
    return { ...plugin, id: record?.id ?? (taken ? path : name), error };
  }
}

function nameOf({ record, path }: ListedPlugin): string {
  try {
    return record?.id ?? findPluginEntry(path).id;
  } catch {
    // It has the name of its path too.
    return fallbackPluginId(path);
  }
}

/** In loading order: installed ones by id, then the paths. Throws `plugin_install_failed` for a broken list. */
export function listPlugins(config: PagurusConfig, home: string): ListedPlugin[] {
  const installed = readInstalls(home).map((record): ListedPlugin => ({
    path: packageFolder(home, record),
    origin: "installed",
    record,
  }));
  return [...installed, ...linkedPlugins(config, home)];
}

/** Whether any plugin is to be loaded: a host without plugins does not load the plugin loader. */
export function hasPlugins(config: PagurusConfig, home: string): boolean {
  return (config.plugins?.load?.paths ?? []).length > 0 || existsSync(installsFile(home));
}

/** Relative paths start at the home folder, where the configuration file is. */
export function linkedPlugins(config: PagurusConfig, home: string): ListedPlugin[] {
  const paths = config.plugins?.load?.paths ?? [];
  return paths.map((path) => ({ path: expandPath(path, home), origin: "linked" }));
}

/**
 * Whether a plugin is loaded. Installed ones need `enabled: true`; those in the paths are enabled by default. `deny` overrides
 * all, then `allow`.
 */
export function pluginState(config: PagurusConfig, id: string, origin: PluginOrigin): PluginState {
  const { allow, deny } = config.plugins ?? {};
  if (deny?.includes(id)) return "denied";
  if (allow && !allow.includes(id)) return "not allowed";
  const enabled = entryOf(config, id)?.enabled ?? origin === "linked";
  return enabled ? "enabled" : "disabled";
}

/** The state of a plugin that was read. `allow` does not apply to an unreadable link: its id is unknown. */
export function stateOf(config: PagurusConfig, { id, origin, record, entry }: ReadPlugin): PluginState {
  if (entry ?? record) return pluginState(config, id, origin);
  if (config.plugins?.deny?.includes(id)) return "denied";
  return entryOf(config, id)?.enabled === false ? "disabled" : "enabled";
}

/** `plugins.entries.<id>`. */
export function entryOf(
  config: PagurusConfig,
  id: string,
): { enabled?: boolean; required?: boolean; config?: unknown } | undefined {
  const entries = config.plugins?.entries;
  return entries && Object.hasOwn(entries, id) ? entries[id] : undefined;
}

/** The manifest's id must be the installed one, so that settings never go to another plugin. Throws `plugin_invalid`. */
export function assertSameId(record: InstallRecord | undefined, id: string): void {
  if (!record || record.id === id) return;
  throw new PagurusError(
    "plugin_invalid",
    `The plugin ${record.id} now has the id ${JSON.stringify(id)}; install it again.`,
    { details: { plugin: record.id, id } },
  );
}
