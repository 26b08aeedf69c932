/** Which plugins there are to load: the installed ones and those of `plugins.load.paths`, and which are switched on. */
import { existsSync } from "node:fs";
import { PagurusError } from "../contract/errors.ts";
import { expandPath } from "../config/paths.ts";
import type { PagurusConfig } from "../config/types.ts";
import { fallbackPluginId, findPluginEntry, type PluginEntry } from "./entry.ts";
import { installsFile, packageFolder, readInstalls, type InstallRecord } from "./installs.ts";

/** Where a plugin comes from: `pagurus plugins install`, or a path in the configuration. */
export type PluginOrigin = "installed" | "linked";

/** Whether a plugin is loaded, and what keeps it from being. */
export type PluginState = "enabled" | "disabled" | "denied" | "not allowed";

export interface ListedPlugin {
  /** File or folder. */
  path: string;
  origin: PluginOrigin;
  /** Of an installed one. */
  record?: InstallRecord;
}

/** A listed plugin that was looked at: its entry, or why that cannot be read. */
export interface ReadPlugin extends ListedPlugin {
  id: string;
  entry?: PluginEntry;
  error?: unknown;
}

/**
 * Reads the entry of one of the plugins listed. A link that cannot be read has the name of its folder or file for an
 * id, or its path where another one has that name: what switches it off must switch nothing else off. Never throws.
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

/** In the order of loading: installed ones by id, then the paths. Throws `plugin_install_failed` for a broken list. */
export function listPlugins(config: PagurusConfig, home: string): ListedPlugin[] {
  const installed = readInstalls(home).map((record): ListedPlugin => ({
    path: packageFolder(home, record),
    origin: "installed",
    record,
  }));
  return [...installed, ...linkedPlugins(config, home)];
}

/** Whether there is anything to load or to fail over: a host without plugins loads nothing of what loads them. */
export function hasPlugins(config: PagurusConfig, home: string): boolean {
  return (config.plugins?.load?.paths ?? []).length > 0 || existsSync(installsFile(home));
}

/** Relative paths start at the home folder, where the configuration file is. */
export function linkedPlugins(config: PagurusConfig, home: string): ListedPlugin[] {
  const paths = config.plugins?.load?.paths ?? [];
  return paths.map((path) => ({ path: expandPath(path, home), origin: "linked" }));
}

/**
 * Whether a plugin is loaded. What the user installed waits for `enabled: true`; what they wrote into the paths is
 * meant to be loaded. `deny` wins over all, then `allow`.
 */
export function pluginState(config: PagurusConfig, id: string, origin: PluginOrigin): PluginState {
  const { allow, deny } = config.plugins ?? {};
  if (deny?.includes(id)) return "denied";
  if (allow && !allow.includes(id)) return "not allowed";
  const enabled = entryOf(config, id)?.enabled ?? origin === "linked";
  return enabled ? "enabled" : "disabled";
}

/** The state of one that was looked at. `allow` says nothing of a link that cannot be read: its id is not known. */
export function stateOf(config: PagurusConfig, { id, origin, record, entry }: ReadPlugin): PluginState {
  if (entry ?? record) return pluginState(config, id, origin);
  if (config.plugins?.deny?.includes(id)) return "denied";
  return entryOf(config, id)?.enabled === false ? "disabled" : "enabled";
}

/** `plugins.entries.<id>`. */
export function entryOf(
  config: PagurusConfig,
  id: string,
): { enabled?: boolean; config?: unknown } | undefined {
  const entries = config.plugins?.entries;
  return entries && Object.hasOwn(entries, id) ? entries[id] : undefined;
}

/** What the manifest says must be what was installed: nobody's settings go to another plugin. Throws `plugin_invalid`. */
export function assertSameId(record: InstallRecord | undefined, id: string): void {
  if (!record || record.id === id) return;
  throw new PagurusError(
    "plugin_invalid",
    `The plugin ${record.id} calls itself ${JSON.stringify(id)} now; install it again.`,
    { details: { plugin: record.id, id } },
  );
}
