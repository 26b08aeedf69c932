/** One plugin's registration: the api passed to it, and its registrations so far. */
import type { ChannelFactory, ChannelKind } from "@pagurus/contract/channel/channel-kind";
import type { ContextEngineFactory } from "@pagurus/contract/engine/engine";
import { isPagurusError, PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import { WIRE_APIS } from "@pagurus/contract/harness/wire";
import type { ProgramWrap } from "@pagurus/contract/harness/wrap";
import type { HookHandler, HookName } from "@pagurus/contract/host/hooks";
import { HOOK_RULES } from "@pagurus/contract/host/hook-rules";
import type { MemoryFactory } from "@pagurus/contract/engine/memory";
import type { LlmComplete } from "@pagurus/contract/model";
import type {
  PluginApi,
  PluginCli,
  PluginCommand,
  PluginLogger,
  PluginTool,
} from "@pagurus/contract/host/plugin";
import type { ToolMiddleware, ToolMiddlewareOptions } from "@pagurus/contract/host/tool-middleware";
import { HARNESS_CONTRACT } from "@pagurus/contract/version";
import { isBundledChannel, isBundledProgram, isBundledTool } from "@pagurus/core/config/bundled";
import { expandPath } from "@pagurus/core/config/config-paths";
import { isIdleGate } from "./compat/hook-names.ts";
import { asPlugin, ownedByPlugin } from "./containment.ts";

export type Kind = "engine" | "harness" | "memory" | "tool" | "command" | "program" | "channel";

export interface Staged {
  /** Every id taken, aliases included. */
  names: { kind: Kind; name: string }[];
  engines: [string, ContextEngineFactory][];
  harnesses: AgentHarness[];
  memories: [string, MemoryFactory][];
  tools: PluginTool[];
  /** `tools`: names that they surround; absent: all. */
  middlewares: { middleware: ToolMiddleware; tools?: readonly string[] }[];
  commands: PluginCommand[];
  programs: ProgramWrap[];
  channels: ChannelKind[];
  hooks: { name: HookName; handler: HookHandler<HookName> }[];
  clis: PluginCli[];
  /** Registrations that nothing here uses. */
  notUsed: string[];
  /** Those of them that could have blocked something. */
  idleGates: string[];
}

/** Extra functions of a registration for the host's own code. */
export interface RegistrationHost {
  /** Records a registration or later request that nothing here uses. */
  notUsed(what: string, idleGate?: boolean): void;
  /** Records an unhandled error of the plugin's code. */
  noteError(error: unknown): void;
}

export interface RegistrationOptions {
  id: string;
  config: unknown;
  pluginConfig: unknown;
  logger: PluginLogger;
  llmComplete: LlmComplete;
  baseDir: string;
  /** Id of the plugin that owns a name; undefined while it is free. */
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

/** Maximum number of records per plugin. */
const MOST_NOT_USED = 200;

/** Tool names that model providers accept. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const CHANNEL_KIND = /^[a-z0-9_-]{1,64}$/;
const COMMAND_NAME = /^(?=.{1,64}$)[a-z][a-z0-9_-]*(?::[a-z0-9_-]+)*$/;

export class Registration {
  readonly api: PluginApi;
  readonly #options: RegistrationOptions;
  readonly #staged: Staged = {
    names: [],
    engines: [],
    harnesses: [],
    memories: [],
    tools: [],
    middlewares: [],
    commands: [],
    programs: [],
    channels: [],
    hooks: [],
    clis: [],
    notUsed: [],
    idleGates: [],
  };
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
      registerContextEngine: this.#engine,
      registerAgentHarness: this.#harness,
      registerMemory: this.#memory,
      registerTool: this.#tool,
      registerToolMiddleware: this.#middleware,
      registerCommand: this.#command,
      registerProgramWrap: this.#program,
      registerChannel: this.#channel,
      registerCli: this.#cli,
      on: this.#hook,
      runtime: { llm: { complete: llmComplete } },
    };
  }

  /** Records a registration or later request that nothing here uses; the rest of the plugin works. */
  notUsed(what: string, idleGate = false): void {
    const { notUsed, idleGates } = this.#staged;
    if (notUsed.includes(what) || notUsed.length >= MOST_NOT_USED) return;
    notUsed.push(what);
    if (idleGate) idleGates.push(what);
    this.#options.logger.info("A plugin registered something that is not used here.", { what });
  }

  /** Ends the registration; later registrations throw. */
  close(): Staged {
    this.#open = false;
    return this.#staged;
  }

  readonly #engine = (name: string, factory: ContextEngineFactory): void => {
    this.#take("engine", name);
    this.#mustBeFunction(factory, `the factory of the engine ${name}`);
    const { id } = this.#options;
    this.#staged.engines.push([
      name,
      async (context) => ownedByPlugin(id, await asPlugin(id, () => factory(context))),
    ]);
  };

  readonly #memory = (name: string, factory: MemoryFactory): void => {
    this.#take("memory", name);
    this.#mustBeFunction(factory, `the factory of the memory ${name}`);
    const { id } = this.#options;
    this.#staged.memories.push([
      name,
      async (context) => ownedByPlugin(id, await asPlugin(id, () => factory(context))),
    ]);
  };

  readonly #harness = (harness: AgentHarness): void => {
    if (harness.contract !== HARNESS_CONTRACT) {
      throw new PagurusError(
        "engine_contract",
        `The harness ${harness.id} was written for the contract ${JSON.stringify(harness.contract)}; this is ${HARNESS_CONTRACT}, so install a version made for it.`,
        { details: { id: harness.id, contract: harness.contract } },
      );
    }
    this.#mustBeFunction(harness.start, `start of the harness ${harness.id}`);
    this.#mustBeFunction(harness.supports, `supports of the harness ${harness.id}`);
    this.#take("harness", harness.id);
    for (const alias of harness.aliases ?? []) this.#take("harness", alias);
    this.#staged.harnesses.push(harness);
  };

  readonly #tool = (tool: PluginTool): void => {
    if (typeof tool.name !== "string" || !TOOL_NAME.test(tool.name)) {
      throw new PagurusError(
        "engine_contract",
        `The tool name ${JSON.stringify(tool.name)} is not valid; use 1 to 64 letters, digits, "-" and "_".`,
      );
    }
    this.#mustBeFunction(tool.execute, `execute of the tool ${tool.name}`);
    if (isBundledTool(tool.name) && this.#options.id !== "pagurus")
      throw takenError("tool", tool.name, "pagurus", this.#options.id);
    this.#take("tool", tool.name);
    const { id } = this.#options;
    const execute: PluginTool["execute"] = (params, context) =>
      asPlugin(id, () => tool.execute(params, context));
    const { name, description, parameters } = tool;
    this.#staged.tools.push({ ...tool, name, description, parameters, execute });
  };

  readonly #middleware = (middleware: ToolMiddleware, { tools }: ToolMiddlewareOptions = {}): void => {
    this.#mustBeOpen();
    this.#mustBeFunction(middleware, "a middleware of tools");
    const { id } = this.#options;
    if (tools !== undefined && !(Array.isArray(tools) && tools.every((name) => typeof name === "string")))
      throw new PagurusError(
        "engine_contract",
        `The plugin ${id} registers a middleware whose tools are no list of names; name tools, or leave the list out.`,
      );
    this.#staged.middlewares.push({
      middleware: (call, next) => asPlugin(id, () => middleware(call, next)),
      ...(tools && { tools: [...tools] }),
    });
  };

  readonly #command = (command: PluginCommand): void => {
    if (typeof command.name !== "string" || !COMMAND_NAME.test(command.name)) {
      throw new PagurusError(
        "engine_contract",
        `The command name ${JSON.stringify(command.name)} is not valid; use lower case letters, digits, "-" and "_", with ":" between parts.`,
      );
    }
    this.#mustBeFunction(command.run, `run of the command ${command.name}`);
    this.#take("command", command.name);
    const aliases = this.#aliases(command);
    const { id } = this.#options;
    const { name, usage, summary, reach } = command;
    const run: PluginCommand["run"] = (args, context) => asPlugin(id, () => command.run(args, context));
    this.#staged.commands.push({
      name,
      usage,
      summary,
      run,
      ...(aliases.length > 0 && { aliases }),
      ...(reach === "session" && { reach }),
    });
  };

  /** An alias that is invalid or taken is skipped: the command has its own name. */
  #aliases({ name, aliases = [] }: PluginCommand): string[] {
    return aliases.filter((alias) => {
      const free = this.#options.ownerOf("command", alias) === undefined;
      const twice = this.#staged.names.some((taken) => taken.kind === "command" && taken.name === alias);
      if (twice || alias === name) return false;
      if (!COMMAND_NAME.test(alias) || !free) {
        this.notUsed(`command alias /${alias}`);
        return false;
      }
      this.#take("command", alias);
      return true;
    });
  }

  readonly #program = (wrap: ProgramWrap): void => {
    if (typeof wrap.id !== "string" || !TOOL_NAME.test(wrap.id))
      throw new PagurusError(
        "engine_contract",
        `The program name ${JSON.stringify(wrap.id)} is not valid; use 1 to 64 letters, digits, "-" and "_".`,
      );
    if (!WIRE_APIS.includes(wrap.api))
      throw new PagurusError(
        "engine_contract",
        `The program ${wrap.id} has the API ${JSON.stringify(wrap.api)}; use one of ${WIRE_APIS.join(", ")}.`,
      );
    this.#mustBeFunction(wrap.survey, `survey of the program ${wrap.id}`);
    if (isBundledProgram(wrap.id)) throw takenError("program", wrap.id, "pagurus", this.#options.id);
    this.#take("program", wrap.id);
    const { id } = this.#options;
    const named = async <T>(work: () => Promise<T>): Promise<T> => {
      try {
        return await asPlugin(id, work);
      } catch (error) {
        if (isPagurusError(error)) throw error;
        const { message } = toPagurusError(error);
        throw new PagurusError(
          "plugin_failed",
          `The plugin ${id} failed with the program ${wrap.id}: ${message}`,
          {
            cause: error,
            details: { plugin: id },
          },
        );
      }
    };
    this.#staged.programs.push({
      ...wrap,
      survey: (request) =>
        named(async () => {
          const program = await wrap.survey(request);
          return { ...program, launch: (route) => named(() => program.launch(route)) };
        }),
    });
  };

  readonly #channel = (kind: string, factory: ChannelFactory): void => {
    if (typeof kind !== "string" || !CHANNEL_KIND.test(kind))
      throw new PagurusError(
        "engine_contract",
        `The kind of channel ${JSON.stringify(kind)} is not valid; use 1 to 64 lower case letters, digits, "-" and "_".`,
      );
    this.#mustBeFunction(factory, `the factory of the channel ${kind}`);
    if (isBundledChannel(kind.toLowerCase())) throw takenError("channel", kind, "pagurus", this.#options.id);
    this.#take("channel", kind);
    const { id } = this.#options;
    const create: ChannelFactory = (context) =>
      asPlugin(id, async () => {
        const channel = await factory(context);
        return {
          id: channel.id,
          kind: channel.kind,
          connect: (port, signal) => asPlugin(id, () => channel.connect(port, signal)),
        };
      });
    this.#staged.channels.push({ kind, create });
  };

  readonly #cli = (register: PluginCli): void => {
    this.#mustBeOpen();
    this.#mustBeFunction(register, "its command line");
    const { id } = this.#options;
    this.#staged.clis.push((context) => asPlugin(id, () => register(context)));
  };

  readonly #hook = <K extends HookName>(name: K, handler: HookHandler<K>): void => {
    this.#mustBeOpen();
    if (!Object.hasOwn(HOOK_RULES, name)) {
      // Plugins written for other hosts register further hooks; the rest of such a plugin works.
      this.notUsed(`hook ${String(name)}`, isIdleGate(String(name)));
      return;
    }
    this.#mustBeFunction(handler, `the handler of the hook ${name}`);
    // The registry returns a handler under the name it was stored with.
    const { id } = this.#options;
    const own: HookHandler<K> = (payload, context) => asPlugin(id, () => handler(payload, context));
    this.#staged.hooks.push({ name, handler: own as unknown as HookHandler<HookName> });
  };

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
      `The plugin ${this.#options.id} has no function for ${what}; it may be written for another contract.`,
    );
  }
}
