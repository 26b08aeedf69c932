/** Loads the plugins that are installed or that `plugins.load.paths` names. */
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type { PluginRegister } from "@pagurus/contract/host/plugin";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { fieldOf } from "@pagurus/core/data/record-fields";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { registerForOpenClaw } from "./compat/plugin-api.ts";
import { isForOpenClaw } from "./compat/plugin-dialect.ts";
import { importPlugin } from "./compat/import-plugin.ts";
import type { AgentRuns } from "./compat/plugin-subagent.ts";
import { assertAllowedFiles } from "./allowed-files.ts";
import { assertNotBundled } from "./bundled-id.ts";
import { assertPluginConfig } from "./plugin-config-check.ts";
import { asPlugin, containPlugin } from "./containment.ts";
import type { PluginEntry } from "./plugin-entry.ts";
import { whyNeeded } from "./plugin-gate.ts";
import { installFolder } from "./installs.ts";
import { withIntactIntrinsics } from "./intrinsics.ts";
import {
  assertSameId,
  entryOf,
  linkedPlugins,
  listPlugins,
  readListed,
  stateOf,
  type ListedPlugin,
  type ReadPlugin,
} from "./listed.ts";
import { packageVersion } from "@pagurus/core/platform/package-version";
import { assertNeedsMet } from "./needs.ts";
import { REGISTER_DEADLINE_MS, type PluginRegistry } from "./registry.ts";
import { LoadingWatch } from "./watchdog.ts";

interface LoadOptions {
  config: PagurusConfig;
  home: string;
  deadlineMs?: number;
  agents?: AgentRuns;
  only?: string;
}

/**
 * Imports and registers each enabled plugin, in the order of the list. A failed plugin is recorded in `registry.failures`.
 * `only`: that one alone. Never throws.
 */
export async function loadPlugins(registry: PluginRegistry, options: LoadOptions): Promise<void> {
  const { config, home, only } = options;
  const watch = new LoadingWatch();
  const all = listedFor(registry, config, home);
  for (const listed of all) {
    const plugin = readListed(listed, all);
    const { id, entry, path } = plugin;
    if (only !== undefined && id !== only) continue;
    // A disabled one need not even be readable.
    const state = stateOf(config, plugin);
    if (state !== "enabled") {
      registry.leaveOut(id, state);
      continue;
    }
    if (!entry) {
      const needed = whyNeeded({
        required: entryOf(config, id)?.required,
        code: path,
        error: plugin.error,
        registered: [],
      });
      registry.fail(id, plugin.error, { path, needed });
      continue;
    }
    watch.begin(id, options.deadlineMs ?? REGISTER_DEADLINE_MS);
    await loadOne(registry, { ...plugin, entry }, options, watch);
    watch.end();
  }
  await watch.close();
}

async function loadOne(
  registry: PluginRegistry,
  plugin: ReadPlugin & { entry: PluginEntry },
  options: LoadOptions,
  watch: LoadingWatch,
): Promise<void> {
  const { config, home } = options;
  const { id, entry, path, record } = plugin;
  const { required, config: settings } = entryOf(config, id) ?? {};
  const code = entry.manifest ? entry.folder : entry.module;
  // Dependencies of an installed plugin are beside it.
  containPlugin(id, record ? installFolder(home, record) : code, (error) => registry.noteError(id, error));
  const needed = ({ error, registered = [] }: { error: unknown; registered?: readonly string[] }) =>
    whyNeeded({ required, code, error, registered });
  try {
    assertSameId(record, entry.id);
    if (record) assertAllowedFiles(home, record);
    assertNotBundled(entry.id, path);
    assertNeedsMet(entry.manifest);
    assertPluginConfig(entry.manifest, settings);
    const deadlineMs = options.deadlineMs ?? REGISTER_DEADLINE_MS;
    // A top-level await could block the host forever.
    const loaded: unknown = await withIntactIntrinsics(id, () =>
      withDeadline(() => asPlugin(id, () => importPlugin(entry.module, join(home, "cache", "plugins"))), {
        ms: deadlineMs,
        label: `Loading the plugin ${id}`,
      }),
    );
    const register = registerOf(loaded, entry.module);
    // Registration has its own deadline.
    watch.begin(id, deadlineMs);
    await registry.register(id, dialectOf(registry, register, { ...plugin, id }, options), {
      baseDir: entry.folder,
      path,
      deadlineMs,
      whyNeeded: needed,
    });
  } catch (error) {
    registry.fail(id, error, { path, needed: needed({ error }) });
  }
}

/** The register function for the registry: with our api, or with OpenClaw's adapter. */
function dialectOf(
  registry: PluginRegistry,
  register: PluginRegister,
  { id, entry }: { id: string; entry: PluginEntry },
  { home, agents }: LoadOptions,
): Parameters<PluginRegistry["register"]>[1] {
  if (!isForOpenClaw(entry)) return register;
  return registerForOpenClaw(register, {
    ...entry,
    agents,
    commandAliases: entry.manifest?.commandAliases ?? {},
    state: registry.stateOf(id, home),
    enqueueSystemEvent: (sessionKey, text) => registry.systemEvents.add(id, sessionKey, text),
    version: packageVersion(),
  });
}

/** The plugins of the home. An unreadable list is a failure: it may have named a gate. */
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
  for (const candidate of [
    fieldOf(module, "default"),
    fieldOf(fieldOf(module, "default"), "default"),
    module,
  ]) {
    if (typeof candidate === "function") return candidate as PluginRegister;
    const register = fieldOf(candidate, "register");
    if (typeof register === "function") return register.bind(candidate) as PluginRegister;
  }
  throw new PagurusError(
    "engine_contract",
    `${file} has no register function; its default export must be one, or an object with one.`,
    { details: { file } },
  );
}
