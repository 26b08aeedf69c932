/** Enables, disables, links and removes plugins; the configuration keeps its comments. */
import { relative } from "node:path";
import { setConfigValue, unsetConfigValue } from "@pagurus/core/config/edit";
import { BUNDLED_ENGINES, BUNDLED_MEMORIES, isBundledId } from "@pagurus/core/config/bundled";
import { PLAIN_CONTEXT_ENGINE } from "@pagurus/core/config/defaults";
import { formatKeyPath, type KeyPath } from "@pagurus/core/config/key-path";
import { loadConfig } from "@pagurus/core/config/load-config";
import { configFile, expandPath } from "@pagurus/core/config/config-paths";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import { filesDigest } from "../allowed-files.ts";
import { assertNotBundled } from "../bundled-id.ts";
import { assertPluginConfig } from "../plugin-config-check.ts";
import { findPluginEntry } from "../plugin-entry.ts";
import { installFolder, readInstalls, writeInstalls } from "../installs.ts";
import {
  entryOf,
  linkedPlugins,
  listPlugins,
  pluginState,
  readListed,
  stateOf,
  type ReadPlugin,
} from "../listed.ts";
import { isPluginId } from "../manifest.ts";
import { assertNeedsMet } from "../needs.ts";
import { sweep, withPluginsLock } from "./staging.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";

/** A known plugin, readable or not. */
export interface KnownPlugin extends ReadPlugin {
  /** Why it cannot be used. */
  problem?: string;
}

/** A slot that was reset because it named a removed part of a plugin. */
export interface ResetSlot {
  /** Path of the key. */
  key: string;
  /** The slot's new value; undefined: removed, so its default applies. */
  value: string | undefined;
}

/** Every plugin that is installed or linked. Throws `config_invalid`, `plugin_install_failed`. */
export function knownPlugins(home: string): KnownPlugin[] {
  const all = listPlugins(loadConfig({ home }).config, home);
  return all
    .map((listed) => readListed(listed, all))
    .map((plugin) => (plugin.entry ? plugin : { ...plugin, problem: toPagurusError(plugin.error).message }));
}

/** The plugin of an id, or of a linked path. Throws `plugin_unknown`. */
export function findKnown(home: string, named: string): KnownPlugin {
  const plugins = knownPlugins(home);
  const path = expandPath(named, currentFolder());
  const found = plugins.find(({ id }) => id === named) ?? plugins.find((plugin) => plugin.path === path);
  if (found) return found;
  const ids = plugins.map(({ id }) => id).join(", ") || "none";
  throw new PagurusError(
    "plugin_unknown",
    `No plugin ${JSON.stringify(named)} is installed or linked (there are: ${ids}); "pagurus plugins install" installs one.`,
    { details: { plugin: named } },
  );
}

/**
 * Sets `plugins.entries.<id>.enabled`. Refuses to enable a plugin that could not load: an unreadable one, settings that its
 * schema refuses, a list that excludes it. Throws `plugin_unknown`, `plugin_invalid`, `config_invalid`, `plugin_install_failed`
 * while another process installs. Enabling allows the files of an installed plugin as they are; `changed`: they differ from those that were
 * allowed before. Disabling the engine in the slot writes the pass-through engine there, so that runs are not
 * refused.
 */
export function setEnabled(
  home: string,
  named: string,
  enabled: boolean,
): Promise<KnownPlugin & { resetSlots: ResetSlot[]; changed: boolean }> {
  return withPluginsLock(home, undefined, async () => {
    const plugin = findKnown(home, named);
    // Its entry belongs to the bundled part.
    assertNotBundled(plugin.id, plugin.path);
    if (enabled) assertCanRun(home, plugin);
    const changed = enabled && allowFiles(home, plugin);
    const resetSlots = enabled ? [] : resetSlotsOf(home, plugin, ["contextEngine"]);
    setConfigValue(configFile(home), entryPath(plugin.id, "enabled"), enabled);
    return Promise.resolve({ ...plugin, resetSlots, changed });
  });
}

/** Records the files of an installed plugin as allowed. Returns whether they differ from those that were. */
function allowFiles(home: string, { record }: KnownPlugin): boolean {
  if (!record) return false;
  const files = filesDigest(installFolder(home, record));
  if (files === record.files) return false;
  const records = readInstalls(home);
  writeInstalls(
    home,
    records.map((other) => (other.id === record.id ? { ...other, files } : other)),
  );
  return record.files !== undefined;
}

function assertCanRun(home: string, plugin: KnownPlugin): void {
  const { config } = loadConfig({ home });
  const { id, origin, entry } = plugin;
  // Throws the reason.
  if (!entry) findPluginEntry(plugin.path);
  const state = pluginState(config, id, origin);
  if (state === "denied" || state === "not allowed") {
    const where = state === "denied" ? "is named in plugins.deny" : "is not named in plugins.allow";
    throw new PagurusError("config_invalid", `The plugin ${id} ${where}; change that list first.`, {
      details: { plugin: id },
    });
  }
  assertNeedsMet(entry?.manifest);
  assertPluginConfig(entry?.manifest, entryOf(config, id)?.config);
}

function entryPath(id: string, key: string): KeyPath {
  return ["plugins", "entries", id, key];
}

/** Adds a folder or file to `plugins.load.paths`, disabled. Throws `plugin_invalid`, `plugin_duplicate_id`, `config_invalid`. */
export function linkPlugin(home: string, path: string): Promise<KnownPlugin> {
  return withPluginsLock(home, undefined, async () => Promise.resolve(addLink(home, path)));
}

function addLink(home: string, path: string): KnownPlugin {
  const entry = findPluginEntry(path);
  const { id } = entry;
  if (!isPluginId(id))
    throw new PagurusError(
      "plugin_invalid",
      `The plugin in ${path} has the id ${JSON.stringify(id)}, which no plugin can have; give it a manifest with an id.`,
      { details: { path } },
    );
  assertNotBundled(id, path);
  const plugins = knownPlugins(home);
  const there = plugins.find((plugin) => plugin.origin === "linked" && plugin.path === path);
  if (there) return there;
  const other = plugins.find((plugin) => plugin.id === id);
  if (other)
    throw new PagurusError(
      "plugin_duplicate_id",
      `The plugin ${id} is ${other.origin} already from ${other.path}; uninstall it before you link another.`,
      { details: { plugin: id } },
    );
  const file = configFile(home);
  // A path alone would enable it.
  setConfigValue(file, entryPath(id, "enabled"), false);
  const paths = loadConfig({ home }).config.plugins?.load?.paths;
  if (paths) setConfigValue(file, ["plugins", "load", "paths", paths.length], path);
  else setConfigValue(file, ["plugins", "load", "paths"], [path]);
  return { id, path, origin: "linked", entry };
}

/** Steps of a removal, in order (for a link, `switch` is the last); after an interruption the same command finishes the rest. */
export type UninstallStep = "slots" | "switch" | "record" | "files";

export interface UninstallOptions {
  signal?: AbortSignal;
  /** Called before each step. */
  onStep?(step: UninstallStep): void;
}

export interface Uninstalled {
  plugin: KnownPlugin;
  resetSlots: ResetSlot[];
}

/**
 * Removes a plugin: first from the configuration, so that an interruption leaves it disabled and complete. Its settings are
 * kept. If its engine is in the slot, the slot gets the pass-through engine; other slots are reset to their default. Throws
 * `plugin_unknown`, `config_invalid`.
 */
export function uninstallPlugin(
  home: string,
  named: string,
  options: UninstallOptions = {},
): Promise<Uninstalled> {
  const onStep = (step: UninstallStep): void => options.onStep?.(step);
  return withPluginsLock(home, options.signal, async () => {
    const plugin = findKnown(home, named);
    onStep("slots");
    const resetSlots = resetSlotsOf(home, plugin);
    const off = (): void => {
      onStep("switch");
      // An entry shared with another plugin of the same id is kept.
      if (!isShared(home, plugin)) switchOff(home, plugin.id);
    };
    if (plugin.origin === "linked") {
      // A link without an entry is enabled.
      onStep("record");
      unlink(home, plugin.path);
      off();
    } else {
      off();
      onStep("record");
      removeInstall(home, plugin.id, onStep);
    }
    return Promise.resolve({ plugin, resetSlots });
  });
}

function removeInstall(home: string, id: string, onStep: (step: UninstallStep) => void): void {
  const rest = readInstalls(home).filter((record) => record.id !== id);
  writeInstalls(home, rest);
  onStep("files");
  sweep(home, rest);
}

/** An entry with only `enabled` is removed. */
function switchOff(home: string, id: string): void {
  const file = configFile(home);
  const entry = entryOf(loadConfig({ home }).config, id);
  if (!entry) return;
  const bare = Object.keys(entry).every((key) => key === "enabled");
  if (bare) unsetConfigValue(file, ["plugins", "entries", id]);
  // The settings of a bundled part are kept.
  else if (entry.enabled !== false && !isBundledId(id)) setConfigValue(file, entryPath(id, "enabled"), false);
}

function isShared(home: string, { id, path }: KnownPlugin): boolean {
  return knownPlugins(home).some((other) => other.id === id && relative(other.path, path) !== "");
}

/** Also removes duplicates; from the last, because each removal moves the later ones. */
function unlink(home: string, path: string): void {
  const listed = linkedPlugins(loadConfig({ home }).config, home);
  for (const index of [...listed.keys()].toReversed()) {
    if (relative(listed[index]?.path ?? "", path) !== "") continue;
    unsetConfigValue(configFile(home), ["plugins", "load", "paths", index]);
  }
}

const SLOTS = [
  {
    key: "contextEngine",
    kind: "context-engine",
    bundled: BUNDLED_ENGINES,
    after: PLAIN_CONTEXT_ENGINE,
  },
  { key: "memory", kind: "memory", bundled: [...BUNDLED_MEMORIES, "none"], after: undefined },
] as const;

/** Resets each slot that names the plugin, or a part that no other plugin can have registered. */
function resetSlotsOf(
  home: string,
  plugin: KnownPlugin,
  keys: readonly string[] = SLOTS.map(({ key }) => key),
): ResetSlot[] {
  const { config } = loadConfig({ home });
  const reset: ResetSlot[] = [];
  for (const slot of SLOTS.filter(({ key }) => keys.includes(key))) {
    const named = config.plugins?.slots?.[slot.key];
    if (named === undefined || slot.bundled.some((id) => id === named)) continue;
    if (named !== plugin.id && mayBelongElsewhere(home, config, plugin, slot.kind)) continue;
    const path = ["plugins", "slots", slot.key];
    if (slot.after === undefined) unsetConfigValue(configFile(home), path);
    else setConfigValue(configFile(home), path, slot.after);
    reset.push({ key: formatKeyPath(path), value: slot.after });
  }
  return reset;
}

/** Engines may have other ids than their plugins, which only running a plugin reveals. */
function mayBelongElsewhere(home: string, config: PagurusConfig, plugin: KnownPlugin, kind: string): boolean {
  if (!mayBeOf(plugin, kind) || stateOf(config, plugin) !== "enabled") return true;
  const others = knownPlugins(home).filter(({ id }) => id !== plugin.id);
  return others.some((other) => mayBeOf(other, kind) && stateOf(config, other) === "enabled");
}

function mayBeOf({ entry }: KnownPlugin, kind: string): boolean {
  const kinds = entry?.manifest?.kinds ?? [];
  return kinds.length === 0 || kinds.includes(kind);
}
