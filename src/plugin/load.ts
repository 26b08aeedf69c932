/** Loads the plugins that are installed or that `plugins.load.paths` names. */
import { join } from "node:path";
import { PagurusError } from "../contract/errors.ts";
import type { PluginRegister } from "../contract/plugin.ts";
import type { PagurusConfig } from "../config/types.ts";
import { withDeadline } from "../platform/deadline.ts";
import { registerForOpenClaw } from "./compat/api.ts";
import { isForOpenClaw } from "./compat/dialect.ts";
import { importPlugin } from "./compat/import-plugin.ts";
import type { AgentRuns } from "./compat/subagent.ts";
import { assertPluginConfig } from "./config-check.ts";
import { withIntactIntrinsics } from "./intrinsics.ts";
import {
  assertSameId,
  entryOf,
  linkedPlugins,
  listPlugins,
  readListed,
  stateOf,
  type ListedPlugin,
} from "./listed.ts";
import { assertNeedsMet } from "./needs.ts";
import { REGISTER_DEADLINE_MS, type PluginRegistry } from "./registry.ts";
import { LoadingWatch } from "./watchdog.ts";

/**
 * Imports each plugin that is enabled and lets it register, in the order of the list. A plugin that fails is kept in
 * `registry.failures`. `only`: that one alone. Never throws.
 */
export async function loadPlugins(
  registry: PluginRegistry,
  options: { config: PagurusConfig; home: string; deadlineMs?: number; agents?: AgentRuns; only?: string },
): Promise<void> {
  const { config, home, agents, only } = options;
  const watch = new LoadingWatch();
  const all = listedFor(registry, config, home);
  for (const listed of all) {
    const plugin = readListed(listed, all);
    const { id, entry, path, record } = plugin;
    if (only !== undefined && id !== only) continue;
    // One that is switched off need not even be readable.
    const state = stateOf(config, plugin);
    if (state !== "enabled") {
      registry.leaveOut(id, state);
      continue;
    }
    if (!entry) {
      registry.fail(id, plugin.error, path);
      continue;
    }
    try {
      assertSameId(record, entry.id);
      assertNeedsMet(entry.manifest);
      assertPluginConfig(entry.manifest, entryOf(config, id)?.config);
      const deadlineMs = options.deadlineMs ?? REGISTER_DEADLINE_MS;
      watch.begin(id, deadlineMs);
      // A module that waits for something at its top level would hold up the host for good.
      const loaded: unknown = await withIntactIntrinsics(id, () =>
        withDeadline(() => importPlugin(entry.module, join(home, "cache", "plugins")), {
          ms: deadlineMs,
          label: `Loading the plugin ${id}`,
        }),
      );
      const register = registerOf(loaded, entry.module);
      // Its registering has a deadline of its own.
      watch.begin(id, deadlineMs);
      await registry.register(
        id,
        isForOpenClaw(entry) ? registerForOpenClaw(register, { ...entry, agents }) : register,
        {
          baseDir: entry.folder,
          path,
          deadlineMs,
        },
      );
    } catch (error) {
      registry.fail(id, error, path);
    }
    watch.end();
  }
  await watch.close();
}

/** The plugins of the home. A list that cannot be read is a failure: what it would have named may be a gate. */
function listedFor(registry: PluginRegistry, config: PagurusConfig, home: string): ListedPlugin[] {
  try {
    return listPlugins(config, home);
  } catch (error) {
    registry.fail("plugins/installs.json", error);
    return linkedPlugins(config, home);
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
