/** One plugin's registration: the api it is handed, and what it has registered through it so far. */
import type { ContextEngineFactory } from "../contract/engine.ts";
import { PagurusError } from "../contract/errors.ts";
import type { AgentHarness } from "../contract/harness.ts";
import { HOOK_RULES, type HookHandler, type HookName } from "../contract/hooks.ts";
import type { MemoryFactory } from "../contract/memory.ts";
import type { LlmComplete } from "../contract/model.ts";
import type { PluginApi, PluginCommand, PluginLogger, PluginTool } from "../contract/plugin.ts";
import { HARNESS_CONTRACT } from "../contract/version.ts";
import { expandPath } from "../config/paths.ts";

export type Kind = "engine" | "harness" | "memory" | "tool" | "command";

export interface Staged {
  /** Every id taken, aliases included. */
  names: { kind: Kind; name: string }[];
  engines: [string, ContextEngineFactory][];
  harnesses: AgentHarness[];
  memories: [string, MemoryFactory][];
  tools: PluginTool[];
  commands: PluginCommand[];
  hooks: { name: HookName; handler: HookHandler<HookName> }[];
  /** Hooks that it watches and that do not exist. */
  unheard: string[];
}

export interface RegistrationOptions {
  id: string;
  config: unknown;
  pluginConfig: unknown;
  logger: PluginLogger;
  llmComplete: LlmComplete;
  baseDir: string;
  /** Id of the plugin that has taken a name; undefined while it is free. */
  ownerOf(kind: Kind, name: string): string | undefined;
}

export function takenError(kind: Kind, name: string, owner: string, plugin: string): PagurusError {
  return new PagurusError(
    "plugin_duplicate_id",
    owner === plugin
      ? `The plugin ${plugin} registers the ${kind} ${name} twice; use a version of it that registers it once.`
      : `The ${kind} ${name} of the plugin ${plugin} is registered already by ${owner}; disable one of the two plugins.`,
    { details: { kind, id: name, owner, plugin } },
  );
}

/** Names that model providers take for tools. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const COMMAND_NAME = /^[a-z][a-z0-9-]{0,63}$/;

function nothing(): Staged {
  return {
    names: [],
    engines: [],
    harnesses: [],
    memories: [],
    tools: [],
    commands: [],
    hooks: [],
    unheard: [],
  };
}

export class Registration {
  readonly api: PluginApi;
  readonly #options: RegistrationOptions;
  readonly #staged: Staged = nothing();
  #open = true;

  constructor(options: RegistrationOptions) {
    this.#options = options;
    const { id, config, pluginConfig, logger, llmComplete, baseDir } = options;
    this.api = {
      id,
      config,
      pluginConfig,
      logger,
      resolvePath: (path) => expandPath(path, baseDir),
      registerContextEngine: (name, factory) => this.#engine(name, factory),
      registerAgentHarness: (harness) => this.#harness(harness),
      registerMemory: (name, factory) => this.#memory(name, factory),
      registerTool: (tool) => this.#tool(tool),
      registerCommand: (command) => this.#command(command),
      on: (hook, handler) => this.#hook(hook, handler),
      runtime: { llm: { complete: llmComplete } },
    };
  }

  /** Ends the registration; the plugin cannot register anything from now on. */
  close(): Staged {
    this.#open = false;
    return this.#staged;
  }

  #engine(name: string, factory: ContextEngineFactory): void {
    this.#take("engine", name);
    this.#mustBeFunction(factory, `the factory of the engine ${name}`);
    this.#staged.engines.push([name, factory]);
  }

  #memory(name: string, factory: MemoryFactory): void {
    this.#take("memory", name);
    this.#mustBeFunction(factory, `the factory of the memory ${name}`);
    this.#staged.memories.push([name, factory]);
  }

  #harness(harness: AgentHarness): void {
    if (harness.contract !== HARNESS_CONTRACT) {
      throw new PagurusError(
        "engine_contract",
        `The harness ${harness.id} was written for the contract ${JSON.stringify(harness.contract)}; this is ${HARNESS_CONTRACT}, so install a version made for it.`,
        { details: { id: harness.id, contract: harness.contract } },
      );
    }
    this.#mustBeFunction(harness.runTurn, `runTurn of the harness ${harness.id}`);
    this.#mustBeFunction(harness.supports, `supports of the harness ${harness.id}`);
    this.#take("harness", harness.id);
    for (const alias of harness.aliases ?? []) this.#take("harness", alias);
    this.#staged.harnesses.push(harness);
  }

  #tool(tool: PluginTool): void {
    if (typeof tool.name !== "string" || !TOOL_NAME.test(tool.name)) {
      throw new PagurusError(
        "engine_contract",
        `The tool name ${JSON.stringify(tool.name)} is not valid; use 1 to 64 letters, digits, "-" and "_".`,
      );
    }
    this.#mustBeFunction(tool.execute, `execute of the tool ${tool.name}`);
    this.#take("tool", tool.name);
    this.#staged.tools.push(tool);
  }

  #command(command: PluginCommand): void {
    if (typeof command.name !== "string" || !COMMAND_NAME.test(command.name)) {
      throw new PagurusError(
        "engine_contract",
        `The command name ${JSON.stringify(command.name)} is not valid; use lower case letters, digits and "-".`,
      );
    }
    this.#mustBeFunction(command.run, `run of the command ${command.name}`);
    this.#take("command", command.name);
    this.#staged.commands.push(command);
  }

  #hook<K extends HookName>(name: K, handler: HookHandler<K>): void {
    this.#mustBeOpen();
    if (!Object.hasOwn(HOOK_RULES, name)) {
      // Plugins written for other hosts watch more than there is here; the rest of such a plugin works.
      this.#options.logger.warn("A plugin watches a hook that does not exist; its handler never runs.", {
        hook: String(name),
      });
      if (!this.#staged.unheard.includes(String(name))) this.#staged.unheard.push(String(name));
      return;
    }
    this.#mustBeFunction(handler, `the handler of the hook ${name}`);
    // The registry hands a handler back under the name it was stored with.
    this.#staged.hooks.push({ name, handler: handler as unknown as HookHandler<HookName> });
  }

  #take(kind: Kind, name: string): void {
    this.#mustBeOpen();
    if (typeof name !== "string" || name === "") {
      throw new PagurusError(
        "engine_contract",
        `The plugin ${this.#options.id} registers a ${kind} without an id.`,
      );
    }
    const mine = this.#staged.names.some((taken) => taken.kind === kind && taken.name === name);
    const owner = mine ? this.#options.id : this.#options.ownerOf(kind, name);
    if (owner !== undefined) throw takenError(kind, name, owner, this.#options.id);
    this.#staged.names.push({ kind, name });
  }

  #mustBeOpen(): void {
    if (this.#open) return;
    throw new PagurusError(
      "engine_contract",
      `The plugin ${this.#options.id} registers something after its register function has ended; await all of it there.`,
    );
  }

  #mustBeFunction(value: unknown, what: string): void {
    if (typeof value === "function") return;
    throw new PagurusError(
      "engine_contract",
      `The plugin ${this.#options.id} gives no function for ${what}; it may be written for another contract.`,
    );
  }
}
