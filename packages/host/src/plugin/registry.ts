/** Registry of plugins: engines, harnesses, memories, tools, commands, channels and hooks, each under one id. */
import { defined } from "@pagurus/core/data/defined";
import type { DeliveryHooks } from "@pagurus/contract/host/delivery";
import type { ChannelKind } from "@pagurus/contract/channel/channel-kind";
import type { ContextEngineFactory } from "@pagurus/contract/engine/engine";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { ProgramWrap } from "@pagurus/contract/harness/wrap";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { HookHandler, HookName } from "@pagurus/contract/host/hooks";
import type { MemoryFactory } from "@pagurus/contract/engine/memory";
import type { LlmComplete } from "@pagurus/contract/model";
import type {
  PluginCli,
  PluginCommand,
  PluginFact,
  PluginRegister,
  PluginTool,
} from "@pagurus/contract/host/plugin";
import type { ToolMiddleware } from "@pagurus/contract/host/tool-middleware";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { withDeadline } from "@pagurus/core/platform/deadline";
import type { Logger } from "@pagurus/core/platform/log";
import { withIntactIntrinsics } from "./intrinsics.ts";
import { join } from "node:path";
import { PluginState } from "./compat/keyed-store.ts";
import { SystemEvents } from "./system-events.ts";
import { asPlugin } from "./containment.ts";
import { isGateHook, MIDDLEWARE_GATE } from "./plugin-gate.ts";
import { Registration, takenError, type Kind, type RegistrationHost, type Staged } from "./registration.ts";

/** Timeout of a plugin's registration, ms. */
export const REGISTER_DEADLINE_MS = 10_000;

const MOST_REASON = 500;
/** Why runs need an unknown plugin. */
const NEEDED = "cannot be read and may be a gate";

export interface PluginFailure {
  pluginId: string;
  /** File or folder, for a plugin that was loaded from one. */
  path?: string;
  /** One sentence. */
  reason: string;
  /** Why no run starts without it, as the rest of a sentence that begins with "it"; absent where runs continue without it. */
  needed?: string;
}

/** Maximum number of recorded errors per plugin. */
const MOST_ERRORS = 5;

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
  /** Code of this package, which needs no deadline and no guard of shared objects. */
  bundled?: boolean;
  /** Called at a failure with what is known; absent: every run needs it. */
  whyNeeded?(failure: { error: unknown; registered: readonly string[] }): string | undefined;
}

/** A registered value and its plugin. */
interface Owned<T> {
  pluginId: string;
  value: T;
}

export interface RegisteredHook<K extends HookName> {
  pluginId: string;
  handler: HookHandler<K>;
}

export interface RegisteredMiddleware {
  pluginId: string;
  middleware: ToolMiddleware;
  /** Names of the tools that it surrounds; absent: all. */
  tools?: readonly string[];
}

/** The first line of a thrown value of any type. */
function reasonOf(error: unknown): string {
  try {
    const [line = ""] = toPagurusError(error).message.trim().split("\n");
    return line === "" ? "It failed without a message." : line.slice(0, MOST_REASON);
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
  readonly #commandNames = new Map<string, string>();
  readonly #programs = new Map<string, Owned<ProgramWrap>>();
  readonly #channels = new Map<string, Owned<ChannelKind>>();
  readonly #hooks = new Map<HookName, RegisteredHook<HookName>[]>();
  readonly #middlewares: RegisteredMiddleware[] = [];
  readonly #clis = new Map<string, readonly PluginCli[]>();
  readonly #notUsed = new Map<string, Pick<PluginFact, "notUsed" | "idleGates">>();
  readonly #errors = new Map<string, string[]>();
  /** Errors not yet reported by a run. */
  #unreported: string[] = [];
  readonly #failures: PluginFailure[] = [];
  readonly #states = new Map<string, PluginState>();
  /** Plugin texts for the next turns of sessions. */
  readonly systemEvents = new SystemEvents();
  /** Why each is not loaded, by id. */
  readonly #leftOut = new Map<string, string>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /**
   * Registers a plugin. All or nothing: when it throws, misses its deadline or uses a taken id, nothing of it is registered and
   * the failure is recorded and returned. Never throws.
   */
  async register(
    id: string,
    register: (...given: [...Parameters<PluginRegister>, host: RegistrationHost]) => void | Promise<void>,
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
      ownerOf: this.#ownerOf,
    });
    const host: RegistrationHost = {
      notUsed: (what, idleGate) => registration.notUsed(what, idleGate),
      noteError: (error) => this.noteError(id, error),
    };
    try {
      this.#checkPluginId(id);
      if (options.bundled === true) await register(registration.api, host);
      else {
        const ms = options.deadlineMs ?? REGISTER_DEADLINE_MS;
        await withIntactIntrinsics(id, () =>
          withDeadline(() => asPlugin(id, () => register(registration.api, host)), {
            ms,
            label: `Registering the plugin ${id}`,
          }),
        );
      }
      this.#commit(id, registration.close());
      return undefined;
    } catch (error) {
      const { hooks, middlewares } = registration.close();
      const gates = hooks.map(({ name }) => name).filter(isGateHook);
      const registered = [...gates, ...(middlewares.length > 0 ? [MIDDLEWARE_GATE] : [])];
      const { whyNeeded } = options;
      const needed = whyNeeded ? whyNeeded({ error, registered }) : NEEDED;
      return this.fail(id, error, { path: options.path, needed });
    }
  }

  /** Records that a plugin could not be loaded. By default every run needs it, since nothing is known of it. */
  fail(
    pluginId: string,
    error: unknown,
    { path, needed }: { path?: string | undefined; needed?: string | undefined } = { needed: NEEDED },
  ): PluginFailure {
    const reason = reasonOf(error);
    const failure: PluginFailure = {
      pluginId,
      reason,
      ...defined({ path, needed }),
    };
    this.#failures.push(failure);
    this.#options.logger.error("A plugin could not be registered.", { plugin: pluginId });
    return failure;
  }

  /** Records that a plugin exists and is not loaded, for errors about its parts. */
  leaveOut(pluginId: string, state: string): void {
    this.#leftOut.set(pluginId, state);
  }

  /** One sentence if a plugin of this id exists and is not loaded. */
  whyLeftOut(id: string): string[] {
    const state = this.#leftOut.get(id);
    if (state === undefined) return [];
    const how = state === "disabled" ? `pagurus plugins enable ${id}` : "see plugins.allow and plugins.deny";
    return [`The plugin ${id} is ${state}: ${how}.`];
  }

  /** Records an unhandled error of a plugin's code. Never throws. */
  noteError(pluginId: string, error: unknown): void {
    const line = reasonOf(error);
    const kept = this.#errors.get(pluginId) ?? [];
    this.#errors.set(pluginId, [...kept, line].slice(-MOST_ERRORS));
    this.#unreported = [
      ...this.#unreported,
      `The plugin ${pluginId} has an error that nothing in it handles: ${line}`,
    ].slice(-MOST_ERRORS);
    this.#options.logger.error("A plugin has an error that nothing in it handles.", { plugin: pluginId });
  }

  /** One sentence for each error since the last call. */
  takeErrors(): string[] {
    const taken = this.#unreported;
    this.#unreported = [];
    return taken;
  }

  /** The user's plugins that have something to report. */
  get facts(): PluginFact[] {
    const failed = new Map(this.#failures.map((failure) => [failure.pluginId, failure]));
    const idle = [...this.#notUsed].flatMap(([id, { notUsed }]) => (notUsed.length > 0 ? id : []));
    const ids = new Set([...failed.keys(), ...idle, ...this.#errors.keys()]);
    return [...ids].map((id) => {
      const { reason, needed } = failed.get(id) ?? {};
      const { notUsed = [], idleGates = [] } = this.#notUsed.get(id) ?? {};
      return {
        id,
        ...defined({ failure: reason, needed }),
        notUsed,
        idleGates,
        errors: this.#errors.get(id) ?? [],
      };
    });
  }

  /** Functions that add commands to `pagurus plugin <id>`. */
  cli(id: string): readonly PluginCli[] {
    return this.#clis.get(id) ?? [];
  }

  /** A plugin's key-value state, under the home. One per plugin of a registry. */
  stateOf(id: string, home: string): PluginState {
    const known = this.#states.get(id);
    if (known) return known;
    const made = new PluginState(join(home, "plugin-state", id.replaceAll("/", "+")));
    this.#states.set(id, made);
    return made;
  }

  /** Closes the plugins' state. It may be opened again. */
  close(): void {
    for (const state of this.#states.values()) state.close();
  }

  /** Ids of the plugins that have such commands. */
  get withCli(): string[] {
    return [...this.#clis.keys()];
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

  /** Names of the tools of the plugin that registered the engine. */
  engineTools(engineId: string): string[] {
    const owner = this.#engines.get(engineId)?.pluginId;
    return [...this.#tools].flatMap(([name, { pluginId }]) => (pluginId === owner ? [name] : []));
  }

  get commands(): PluginCommand[] {
    return [...this.#commands.values()].map(({ value }) => value);
  }

  /** Programs of the user that `pagurus wire` can wrap. */
  get programs(): ProgramWrap[] {
    return [...this.#programs.values()].map(({ value }) => value);
  }

  /** Kinds of channels that `channels.<id>.kind` may name besides the bundled ones. */
  get channels(): ChannelKind[] {
    return [...this.#channels.values()].map(({ value }) => value);
  }

  /** The engine's factory. Throws `engine_unknown` with the failed plugins, one of which may have it. */
  engine(id: string): ContextEngineFactory {
    const found = this.#engines.get(id);
    if (found) return found.value;
    const known = this.engineIds;
    const failed = this.#failures.map(({ pluginId, reason }) => ` The plugin ${pluginId} failed: ${reason}`);
    const off = this.whyLeftOut(id).map((why) => ` ${why}`);
    throw new PagurusError(
      "engine_unknown",
      `No context engine ${JSON.stringify(id)} is registered (there are: ${known.join(", ") || "none"}); name one of these in plugins.slots.contextEngine, or fix its plugin.${off.join("")}${failed.join("")}`,
      { details: { id, known, failures: this.#failures.map(({ pluginId }) => pluginId) } },
    );
  }

  /** The memory's factory; undefined when no plugin registered it. */
  memory(id: string): MemoryFactory | undefined {
    return this.#memories.get(id)?.value;
  }

  /** Middlewares of tools in the order of registration. */
  get toolMiddlewares(): readonly RegisteredMiddleware[] {
    return this.#middlewares;
  }

  /** Handlers of a hook in the order of registration. */
  hooks<K extends HookName>(name: K): readonly RegisteredHook<K>[] {
    // Stored under its own name, a handler has that name's type.
    return (this.#hooks.get(name) ?? []) as unknown as readonly RegisteredHook<K>[];
  }

  /** Id of the plugin that has taken a name. */
  readonly #ownerOf = (kind: Kind, name: string): string | undefined => {
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
        return this.#commands.get(this.#commandNames.get(name) ?? name)?.pluginId;
      case "program":
        return this.#programs.get(name)?.pluginId;
      case "channel":
        return this.#channels.get(name)?.pluginId;
    }
  };

  #checkPluginId(id: string): void {
    if (!this.#plugins.has(id)) return;
    throw new PagurusError(
      "plugin_duplicate_id",
      `A plugin with the id ${id} is registered already; remove one of the two from plugins.load.paths.`,
      { details: { plugin: id } },
    );
  }

  /** Checks everything before storing: another plugin may have registered in the meantime. */
  #commit(id: string, staged: Staged): void {
    this.#checkPluginId(id);
    for (const { kind, name } of staged.names) {
      const owner = this.#ownerOf(kind, name);
      if (owner !== undefined) throw takenError(kind, name, owner, id);
    }
    this.#plugins.add(id);
    const { notUsed, idleGates, clis } = staged;
    // The lists grow when the plugin requests more later.
    this.#notUsed.set(id, { notUsed, idleGates });
    if (clis.length > 0) this.#clis.set(id, clis);
    for (const [name, value] of staged.engines) this.#engines.set(name, { pluginId: id, value });
    for (const [name, value] of staged.memories) this.#memories.set(name, { pluginId: id, value });
    for (const value of staged.tools) this.#tools.set(value.name, { pluginId: id, value });
    for (const value of staged.programs) this.#programs.set(value.id, { pluginId: id, value });
    for (const value of staged.channels) this.#channels.set(value.kind, { pluginId: id, value });
    for (const value of staged.commands) {
      this.#commands.set(value.name, { pluginId: id, value });
      for (const alias of value.aliases ?? []) this.#commandNames.set(alias, value.name);
    }
    for (const value of staged.harnesses) {
      this.#harnesses.set(value.id, { pluginId: id, value });
      for (const alias of value.aliases ?? []) this.#harnessNames.set(alias, value.id);
    }
    for (const value of staged.middlewares) this.#middlewares.push({ pluginId: id, ...value });
    for (const { name, handler } of staged.hooks) {
      const list = this.#hooks.get(name) ?? [];
      list.push({ pluginId: id, handler });
      this.#hooks.set(name, list);
    }
  }
}

/** A host's reports of its plugins; `registry` returns the one in use. */
export function reportsOf(registry: () => PluginRegistry): Omit<Pagurus["plugins"], keyof DeliveryHooks> {
  return {
    facts: () => registry().facts,
    cli: (id) => registry().cli(id),
    withCli: () => registry().withCli,
    programs: () => registry().programs,
    channels: () => registry().channels,
  };
}
