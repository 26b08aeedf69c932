/**
 * The `api` of OpenClaw, made of ours, for plugins that were written for it. What this host has is there under
 * OpenClaw's names and means what it means there; what it does not have is absent, as engines test for it, and is
 * remembered, so that a plugin which cannot do without it is refused with its name.
 */
import { realpathSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { ContextEngineFactory } from "../../contract/engine.ts";
import { PagurusError } from "../../contract/errors.ts";
import type { HookName } from "../../contract/hooks.ts";
import type { PluginApi, PluginRegister } from "../../contract/plugin.ts";
import { hostEngine } from "./engine.ts";
import { importsOpenClaw } from "./imports.ts";
import { hostHook, type OpenClawHandler } from "./hooks.ts";
import { PluginSubagents, type AgentRuns } from "./subagent.ts";
import {
  hostCommand,
  hostTools,
  type OpenClawCommand,
  type OpenClawTool,
  type OpenClawToolFactory,
} from "./tools.ts";

/** A background part of a plugin: started when the host is ready, stopped when it ends. */
interface OpenClawService {
  id: string;
  start(context: { config: unknown; logger: PluginApi["logger"] }): unknown;
  stop?(context: { config: unknown; logger: PluginApi["logger"] }): unknown;
}

interface Place {
  /** The plugin's module. */
  module: string;
  folder: string;
  /** Absent where no agent can be started. */
  agents?: AgentRuns | undefined;
}

/** What a plugin has asked of the host's api: dotted names, in the order of asking. */
export interface AskedOfHost {
  used: string[];
  /** Asked for and absent. */
  missing: string[];
}

const asked = new Map<string, { used: Set<string>; missing: Set<string> }>();

/** What a plugin for OpenClaw has taken of its api since it registered last, for reports. */
export function askedOfHost(pluginId: string): AskedOfHost {
  const { used = [], missing = [] } = asked.get(pluginId) ?? {};
  return { used: [...used], missing: [...missing] };
}

/**
 * A plugin's register function that is handed OpenClaw's `api`. Throws `plugin_failed` where it fails for want of a
 * member, else what it throws.
 */
export function registerForOpenClaw(register: PluginRegister, place: Place): PluginRegister {
  return async (own) => {
    const seen = { used: new Set<string>(), missing: new Set<string>() };
    asked.set(own.id, seen);
    const { module, folder } = place;
    const api = watched("api", openClawApi(own, place), seen);
    try {
      // The api of another host has another type; the plugin knows which of the two it wants.
      await register(api as unknown as PluginApi);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      const wanted = [...seen.missing].find((name) => error.message.includes(name.split(".").at(-1) ?? name));
      if (wanted === undefined) throw hinted(error, own.id, [...seen.missing], { module, folder });
      throw new PagurusError(
        "plugin_failed",
        `The plugin ${own.id} needs ${wanted} of OpenClaw, which this host does not have; use a version of it that does without, or run it in OpenClaw.`,
        { cause: error, details: { plugin: own.id, missing: wanted } },
      );
    }
  };
}

/** What the engine of JavaScript says of something that is not there; what a plugin says itself stays as it is. */
const ABSENT = /is not a (?:function|constructor)|of undefined|of null/;

/** A failure that may come from what this host does not have: with what that is, as far as it is known. */
function hinted(
  error: TypeError,
  id: string,
  missing: readonly string[],
  { module, folder }: Pick<Place, "module" | "folder">,
): Error {
  const imports = [module, folder].some((path) => importsOpenClaw(pathToFileURL(realpathSync(path))));
  if (!ABSENT.test(error.message) || (missing.length === 0 && !imports)) return error;
  const why =
    missing.length > 0
      ? `it had asked OpenClaw for ${missing.join(", ")}, which this host does not have`
      : "perhaps it is a name of openclaw/plugin-sdk that this host does not have";
  return new PagurusError("plugin_failed", `The plugin ${id} failed: ${error.message} (${why}).`, {
    cause: error,
    details: { plugin: id, missing },
  });
}

function openClawApi(own: PluginApi, { module, folder, agents }: Place): Record<string, unknown> {
  // The host's configuration is not theirs to change.
  const config = structuredClone(own.config);
  const on = (hook: string, handler: OpenClawHandler): void =>
    // What is no handler is refused as such.
    own.on(
      hook as HookName,
      typeof handler === "function" ? hostHook(hook as HookName, handler, own.logger) : handler,
    );
  return {
    id: own.id,
    name: own.id,
    source: module,
    rootDir: folder,
    registrationMode: "full",
    config,
    pluginConfig: structuredClone(own.pluginConfig),
    logger: own.logger,
    resolvePath: own.resolvePath,
    runtime: runtimeOf(own, config, agents),
    registerContextEngine: (id: string, factory: ContextEngineFactory) =>
      own.registerContextEngine(
        id,
        typeof factory === "function" ? async (context) => hostEngine(await factory(context)) : factory,
      ),
    registerAgentHarness: own.registerAgentHarness,
    registerTool: (tool: OpenClawTool | OpenClawToolFactory, named?: { name?: string; names?: string[] }) => {
      const made = hostTools(tool, own.id, config);
      for (const each of made) own.registerTool(each);
      if (made.length > 0) return;
      own.logger.warn("A plugin makes no tool while it registers; none is offered.", { tools: named });
    },
    registerCommand: (command: OpenClawCommand) => own.registerCommand(hostCommand(command, config)),
    registerService: (service: OpenClawService) => {
      const context = { config, logger: own.logger };
      on("gateway_start", () => service.start(context));
      on("gateway_stop", () => service.stop?.(context));
    },
    registerHook: (names: string | string[], handler: OpenClawHandler) => {
      for (const name of [names].flat()) on(name, handler);
    },
    on,
  };
}

function runtimeOf(own: PluginApi, config: unknown, agents: AgentRuns | undefined): Record<string, unknown> {
  return {
    llm: own.runtime.llm,
    config: { current: () => config, loadConfig: () => config },
    logging: { getChildLogger: () => own.logger, shouldLogVerbose: () => false },
    ...(agents && { subagent: new PluginSubagents(own.id, agents) }),
  };
}

/** The object, remembering what is asked of it. */
function watched<T extends Record<string, unknown>>(
  name: string,
  target: T,
  seen: { used: Set<string>; missing: Set<string> },
): T {
  return new Proxy(target, {
    get(object, key, receiver) {
      const value: unknown = Reflect.get(object, key, receiver);
      if (typeof key !== "string") return value;
      (value === undefined && key !== "pluginConfig" ? seen.missing : seen.used).add(`${name}.${key}`);
      const nested = name === "api" && key === "runtime";
      return nested ? watched("api.runtime", value as Record<string, unknown>, seen) : value;
    },
  });
}
