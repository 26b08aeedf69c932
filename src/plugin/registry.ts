/** What plugins have registered: engines, harnesses, memories, tools, commands and hooks, each under one id. */
import type { ContextEngineFactory } from "../contract/engine.ts";
import { PagurusError, toPagurusError } from "../contract/errors.ts";
import type { AgentHarness } from "../contract/harness.ts";
import type { HookHandler, HookName } from "../contract/hooks.ts";
import type { MemoryFactory } from "../contract/memory.ts";
import type { LlmComplete } from "../contract/model.ts";
import type { PluginCommand, PluginRegister, PluginTool } from "../contract/plugin.ts";
import type { PagurusConfig } from "../config/types.ts";
import { withDeadline } from "../platform/deadline.ts";
import type { Logger } from "../platform/log.ts";
import { withIntactIntrinsics } from "./intrinsics.ts";
import { Registration, takenError, type Kind, type Staged } from "./registration.ts";

/** How long a plugin may take to register, ms. */
export const REGISTER_DEADLINE_MS = 10_000;

const REASON_MAX_CHARS = 500;

export interface PluginFailure {
  pluginId: string;
  /** File or folder, for a plugin that was loaded from one. */
  path?: string;
  /** One sentence. */
  reason: string;
}

export interface RegistryOptions {
  config: PagurusConfig;
  logger: Logger;
  /** What `api.runtime.llm.complete` calls. */
  llmComplete: LlmComplete;
  /** Folder that relative paths of plugins without a folder start at. */
  baseDir: string;
}

export interface RegisterOptions {
  /** The plugin's folder: `api.resolvePath` starts there. */
  baseDir?: string;
  path?: string;
  deadlineMs?: number;
}

/** Where a registered thing comes from. */
interface Owned<T> {
  pluginId: string;
  value: T;
}

export interface RegisteredHook<K extends HookName> {
  pluginId: string;
  handler: HookHandler<K>;
}

/** The first line of what was thrown, which may be anything. */
function reasonOf(error: unknown): string {
  try {
    const [line = ""] = toPagurusError(error).message.trim().split("\n");
    return line === "" ? "It failed without a message." : line.slice(0, REASON_MAX_CHARS);
  } catch {
    return "It failed with something that cannot be read.";
  }
}

export class PluginRegistry {
  readonly #options: RegistryOptions;
  readonly #plugins = new Set<string>();
  readonly #engines = new Map<string, Owned<ContextEngineFactory>>();
  readonly #harnesses = new Map<string, Owned<AgentHarness>>();
  readonly #harnessNames = new Map<string, string>();
  readonly #memories = new Map<string, Owned<MemoryFactory>>();
  readonly #tools = new Map<string, Owned<PluginTool>>();
  readonly #commands = new Map<string, Owned<PluginCommand>>();
  readonly #hooks = new Map<HookName, RegisteredHook<HookName>[]>();
  readonly #unheard = new Map<string, readonly string[]>();
  readonly #failures: PluginFailure[] = [];
  /** Why each is not loaded, by id. */
  readonly #leftOut = new Map<string, string>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /**
   * Lets a plugin register. All or nothing: when it throws, misses its deadline or takes an id that is taken,
   * nothing of it is registered and the failure is kept and returned. Never throws.
   */
  async register(
    id: string,
    register: PluginRegister,
    options: RegisterOptions = {},
  ): Promise<PluginFailure | undefined> {
    const { config, logger, llmComplete, baseDir } = this.#options;
    const entry = config.plugins?.entries?.[id];
    const registration = new Registration({
      id,
      config,
      pluginConfig: entry?.config,
      logger: logger.child({ plugin: id }),
      llmComplete,
      baseDir: options.baseDir ?? baseDir,
      ownerOf: (kind, name) => this.#ownerOf(kind, name),
    });
    try {
      this.#checkPluginId(id);
      const ms = options.deadlineMs ?? REGISTER_DEADLINE_MS;
      await withIntactIntrinsics(id, () =>
        withDeadline(() => register(registration.api), { ms, label: `Registering the plugin ${id}` }),
      );
      this.#commit(id, registration.close());
      return undefined;
    } catch (error) {
      registration.close();
      return this.fail(id, error, options.path);
    }
  }

  /** Keeps that a plugin could not be loaded. */
  fail(pluginId: string, error: unknown, path?: string): PluginFailure {
    const reason = reasonOf(error);
    const failure: PluginFailure = { pluginId, reason, ...(path !== undefined && { path }) };
    this.#failures.push(failure);
    this.#options.logger.error("A plugin could not be registered.", { plugin: pluginId });
    return failure;
  }

  /** Keeps that a plugin is there and not loaded, for who asks for something of it. */
  leaveOut(pluginId: string, state: string): void {
    this.#leftOut.set(pluginId, state);
  }

  /** One sentence when a plugin of this id is there and not loaded. */
  whyLeftOut(id: string): string[] {
    const state = this.#leftOut.get(id);
    if (state === undefined) return [];
    const how = state === "disabled" ? `pagurus plugins enable ${id}` : "see plugins.allow and plugins.deny";
    return [`The plugin ${id} is ${state}: ${how}.`];
  }

  /** Hooks that plugins watch and that do not exist, by plugin: their handlers never run. */
  get unheardHooks(): { pluginId: string; hooks: readonly string[] }[] {
    return [...this.#unheard].map(([pluginId, hooks]) => ({ pluginId, hooks }));
  }

  get failures(): readonly PluginFailure[] {
    return this.#failures;
  }

  get engineIds(): string[] {
    return [...this.#engines.keys()];
  }

  get harnesses(): AgentHarness[] {
    return [...this.#harnesses.values()].map(({ value }) => value);
  }

  get tools(): PluginTool[] {
    return [...this.#tools.values()].map(({ value }) => value);
  }

  /** Names of the tools of the plugin that has brought the engine along. */
  engineTools(engineId: string): string[] {
    const owner = this.#engines.get(engineId)?.pluginId;
    return [...this.#tools].flatMap(([name, { pluginId }]) => (pluginId === owner ? [name] : []));
  }

  get commands(): PluginCommand[] {
    return [...this.#commands.values()].map(({ value }) => value);
  }

  /** The engine's factory. Throws `engine_unknown` with the plugins that failed, one of which may have it. */
  engine(id: string): ContextEngineFactory {
    const found = this.#engines.get(id);
    if (found) return found.value;
    const known = this.engineIds;
    const failed = this.#failures.map(({ pluginId, reason }) => ` The plugin ${pluginId} failed: ${reason}`);
    const off = this.whyLeftOut(id).map((why) => ` ${why}`);
    throw new PagurusError(
      "engine_unknown",
      `No context engine ${JSON.stringify(id)} is registered (there are: ${known.join(", ") || "none"}); name one of these in plugins.slots.contextEngine, or mend its plugin.${off.join("")}${failed.join("")}`,
      { details: { id, known, failures: this.#failures.map(({ pluginId }) => pluginId) } },
    );
  }

  /** The memory's factory; undefined when no plugin registered it. */
  memory(id: string): MemoryFactory | undefined {
    return this.#memories.get(id)?.value;
  }

  /** Handlers of a hook in the order of registration. */
  hooks<K extends HookName>(name: K): readonly RegisteredHook<K>[] {
    // Stored under its own name, a handler is of that name's type.
    return (this.#hooks.get(name) ?? []) as unknown as readonly RegisteredHook<K>[];
  }

  /** Id of the plugin that has taken a name. */
  #ownerOf(kind: Kind, name: string): string | undefined {
    switch (kind) {
      case "engine":
        return this.#engines.get(name)?.pluginId;
      case "harness":
        return this.#harnesses.get(this.#harnessNames.get(name) ?? name)?.pluginId;
      case "memory":
        return this.#memories.get(name)?.pluginId;
      case "tool":
        return this.#tools.get(name)?.pluginId;
      case "command":
        return this.#commands.get(name)?.pluginId;
    }
  }

  #checkPluginId(id: string): void {
    if (!this.#plugins.has(id)) return;
    throw new PagurusError(
      "plugin_duplicate_id",
      `A plugin with the id ${id} is registered already; remove one of the two from plugins.load.paths.`,
      { details: { plugin: id } },
    );
  }

  /** Checks all before it stores anything: another plugin may have registered while this one was at it. */
  #commit(id: string, staged: Staged): void {
    this.#checkPluginId(id);
    for (const { kind, name } of staged.names) {
      const owner = this.#ownerOf(kind, name);
      if (owner !== undefined) throw takenError(kind, name, owner, id);
    }
    this.#plugins.add(id);
    if (staged.unheard.length > 0) this.#unheard.set(id, staged.unheard);
    for (const [name, value] of staged.engines) this.#engines.set(name, { pluginId: id, value });
    for (const [name, value] of staged.memories) this.#memories.set(name, { pluginId: id, value });
    for (const value of staged.tools) this.#tools.set(value.name, { pluginId: id, value });
    for (const value of staged.commands) this.#commands.set(value.name, { pluginId: id, value });
    for (const value of staged.harnesses) {
      this.#harnesses.set(value.id, { pluginId: id, value });
      for (const alias of value.aliases ?? []) this.#harnessNames.set(alias, value.id);
    }
    for (const { name, handler } of staged.hooks) {
      const list = this.#hooks.get(name) ?? [];
      list.push({ pluginId: id, handler });
      this.#hooks.set(name, list);
    }
  }
}
