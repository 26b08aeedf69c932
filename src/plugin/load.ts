/** Loads the plugins that `plugins.load.paths` names. */
import { pathToFileURL } from "node:url";
import { PagurusError } from "../contract/errors.ts";
import type { PluginRegister } from "../contract/plugin.ts";
import { expandPath } from "../config/paths.ts";
import type { PagurusConfig } from "../config/types.ts";
import { withDeadline } from "../platform/deadline.ts";
import { fallbackPluginId, findPluginEntry } from "./entry.ts";
import { REGISTER_DEADLINE_MS, type PluginRegistry } from "./registry.ts";

/**
 * Imports each plugin and lets it register, in the order of the list. Relative paths start at the home folder,
 * where the configuration file is. A plugin that fails is kept in `registry.failures`. Never throws.
 */
export async function loadPlugins(
  registry: PluginRegistry,
  options: { config: PagurusConfig; home: string; deadlineMs?: number },
): Promise<void> {
  const { plugins } = options.config;
  for (const named of plugins?.load?.paths ?? []) {
    const path = expandPath(named, options.home);
    let id = fallbackPluginId(path);
    try {
      const entry = findPluginEntry(path);
      id = entry.id;
      if (plugins?.entries?.[id]?.enabled === false) continue;
      const deadlineMs = options.deadlineMs ?? REGISTER_DEADLINE_MS;
      // A module that waits for something at its top level would hold up the host for good.
      const loaded: unknown = await withDeadline(() => import(pathToFileURL(entry.module).href), {
        ms: deadlineMs,
        label: `Loading the plugin ${id}`,
      });
      await registry.register(id, registerOf(loaded, entry.module), {
        baseDir: entry.folder,
        path,
        deadlineMs,
      });
    } catch (error) {
      registry.fail(id, error, path);
    }
  }
}

/** The default export (or the module itself) as a register function: a function, or an object with one. */
function registerOf(module: unknown, file: string): PluginRegister {
  for (const candidate of [field(module, "default"), field(field(module, "default"), "default"), module]) {
    if (typeof candidate === "function") return candidate as PluginRegister;
    const register = field(candidate, "register");
    if (typeof register === "function") return register.bind(candidate) as PluginRegister;
  }
  throw new PagurusError(
    "engine_contract",
    `${file} has no register function; its default export must be one, or an object with one.`,
    { details: { file } },
  );
}

function field(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
