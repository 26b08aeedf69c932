/**
 * Adapter from our plugin api to OpenClaw's `api`, for plugins written for it. Features of this host have OpenClaw's names and
 * meaning. Registrations without a use here are accepted and reported (`idle.ts`); any other member is absent, as engines test
 * for it, and recorded, so that a plugin that fails without it is refused with its name.
 */
import { realpathSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { ContextEngineFactory } from "@pagurus/contract/engine/engine";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { HookName } from "@pagurus/contract/host/hooks";
import type { PluginApi, PluginRegister } from "@pagurus/contract/host/plugin";
import { recordOf } from "@pagurus/core/data/record-fields";
import type { RegistrationHost } from "../registration.ts";
import { hostEngine } from "./foreign-engine.ts";
import { importsOpenClaw } from "./imports.ts";
import { counterpartOf } from "./hook-names.ts";
import { hostHook, type OpenClawHandler } from "./foreign-hooks.ts";
import {
  resultMiddleware,
  type ResultMiddleware,
  type ResultMiddlewareOptions,
} from "./foreign-middleware.ts";
import { idleGroups, idleRegistration, runContexts, type NoteIdle } from "./idle.ts";
import { runtimeOf, type RuntimePlace } from "./plugin-runtime.ts";
import {
  hostCommand,
  hostTools,
  type OpenClawCommand,
  type OpenClawTool,
  type OpenClawToolFactory,
} from "./plugin-tools.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";

/** A background part of a plugin: started when the host is ready, stopped when it ends. */
interface OpenClawService {
  id: string;
  start(context: ServiceContext): unknown;
  stop?(context: ServiceContext): unknown;
}

interface ServiceContext {
  config: unknown;
  logger: PluginApi["logger"];
  workspaceDir: string;
  stateDir: string;
}

interface Place extends RuntimePlace {
  /** Path of the plugin's module. */
  module: string;
  folder: string;
  /** Aliases of commands, by the name that the plugin registers. */
  commandAliases: Readonly<Record<string, readonly string[]>>;
}

/** Members of the host's api that a plugin has requested: dotted names, in order. */
export interface AskedOfHost {
  used: string[];
  /** Requested and absent. */
  missing: string[];
}

const asked = new Map<string, { used: Set<string>; missing: Set<string> }>();

/** Members that an OpenClaw plugin has used since its last registration, for reports. */
export function askedOfHost(pluginId: string): AskedOfHost {
  const { used = [], missing = [] } = asked.get(pluginId) ?? {};
  return { used: [...used], missing: [...missing] };
}

/**
 * Wraps a register function so that it gets OpenClaw's `api`. Throws `plugin_failed` if it fails for lack of a member, else its
 * own error.
 */
export function registerForOpenClaw(
  register: PluginRegister,
  place: Place,
): (own: PluginApi, host: RegistrationHost) => Promise<void> {
  return async (own, host) => {
    const seen = { used: new Set<string>(), missing: new Set<string>() };
    asked.set(own.id, seen);
    const { module, folder } = place;
    const api = watched("api", openClawApi(own, host, place), seen, (what) => host.notUsed(what));
    try {
      // Another host's api has another type; the plugin knows which one it expects.
      await register(api as unknown as PluginApi);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      const wanted = [...seen.missing].find((name) => error.message.includes(name.split(".").at(-1) ?? name));
      if (wanted === undefined) throw await hinted(error, own.id, [...seen.missing], { module, folder });
      throw new PagurusError(
        "plugin_failed",
        `The plugin ${own.id} needs ${wanted} of OpenClaw, which this host does not have; use a version of it that does without, or run it in OpenClaw.`,
        { cause: error, details: { plugin: own.id, missing: wanted } },
      );
    }
  };
}

/** JavaScript errors about a missing value; a plugin's own errors are kept. */
const ABSENT = /is not a (?:function|constructor)|of undefined|of null/;
/** The value that is missing, for example `createDedupeCache` in `sdk.createDedupeCache is not a function`. */
const CALLED = /([\w$]+)\)? is not a (?:function|constructor)/;

/** Adds to a failure the members that this host lacks, if known. */
async function hinted(
  error: TypeError,
  id: string,
  missing: readonly string[],
  { module, folder }: Pick<Place, "module" | "folder">,
): Promise<Error> {
  const imports = [module, folder].some((path) => importsOpenClaw(pathToFileURL(realpathSync(path))));
  if (!ABSENT.test(error.message) || (missing.length === 0 && !imports)) return error;
  const { absentFrom } = await import("./sdk-absent.ts");
  const name = CALLED.exec(error.message)?.[1];
  const place = imports && name !== undefined ? absentFrom(name) : undefined;
  const why =
    place !== undefined
      ? `${name} of ${place} is a name that this host does not have`
      : missing.length > 0
        ? `it had asked OpenClaw for ${missing.join(", ")}, which this host does not have`
        : "perhaps it is a name of openclaw/plugin-sdk that this host does not have";
  return new PagurusError("plugin_failed", `The plugin ${id} failed: ${error.message} (${why}).`, {
    cause: error,
    details: { plugin: id, missing },
  });
}

function openClawApi(own: PluginApi, host: RegistrationHost, place: Place): Record<string, unknown> {
  const { module, folder } = place;
  // Plugins cannot change the host's configuration.
  const config = structuredClone(own.config);
  const note = (what: string): void => host.notUsed(what);
  const on = (hook: string, handler: OpenClawHandler, options?: object): void => {
    for (const option of Object.keys(recordOf(options))) note(`option ${option} of the hook ${hook}`);
    const name = counterpartOf(hook);
    // The registration reports names without a counterpart, and refuses non-functions.
    if (name === undefined || typeof handler !== "function")
      own.on((name ?? hook) as HookName, handler as never);
    else own.on(name, hostHook(name, handler, own.logger, { as: hook, config }, note));
  };
  const service = serviceRegistration(on, host, {
    config,
    logger: own.logger,
    stateDir: place.state.resolveStateDir,
  });
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
    runtime: runtimeOf(own, config, place, note),
    ...idleGroups(note),
    runContext: runContexts(),
    lifecycle: {
      registerRuntimeLifecycle: ({ cleanup }: { cleanup?: OpenClawHandler }) => {
        if (typeof cleanup === "function")
          on("gateway_stop", () => cleanup({ reason: "restart" }, NO_SESSION));
      },
    },
    registerContextEngine: (id: string, factory: ContextEngineFactory) =>
      own.registerContextEngine(
        id,
        typeof factory === "function" ? async (context) => hostEngine(await factory(context)) : factory,
      ),
    registerAgentHarness: own.registerAgentHarness,
    registerTool: (tool: OpenClawTool | OpenClawToolFactory, named?: { name?: string; names?: string[] }) => {
      const made = hostTools(tool, own.id, config);
      for (const each of made) leftOut(host, `tool ${each.name}`, () => own.registerTool(each));
      if (made.length > 0) return;
      own.logger.warn("A plugin makes no tool while it registers; none is offered.", { tools: named });
    },
    registerToolMiddleware: own.registerToolMiddleware,
    registerAgentToolResultMiddleware: (handler: ResultMiddleware, options?: ResultMiddlewareOptions) => {
      const tools = options?.matcher;
      own.registerToolMiddleware(resultMiddleware(handler, options), tools ? { tools } : {});
    },
    registerCommand: (command: OpenClawCommand) => {
      const made = hostCommand(command, config, place.commandAliases[command.name] ?? []);
      leftOut(host, `command /${made.name}`, () => own.registerCommand(made));
    },
    registerProgramWrap: own.registerProgramWrap,
    registerCli: own.registerCli,
    registerService: service,
    registerHook: (names: string | string[], handler: OpenClawHandler) => {
      for (const name of [names].flat()) on(name, handler);
    },
    on,
  };
}

const NO_SESSION = { sessionKey: "", sessionId: "", agentId: "main" };

/** An unusable tool or command is skipped alone: its name is taken or invalid here. */
function leftOut(host: RegistrationHost, what: string, register: () => void): void {
  try {
    register();
  } catch (error) {
    const { code, message } = toPagurusError(error);
    if (code !== "plugin_duplicate_id" && code !== "engine_contract") throw error;
    host.notUsed(`${what} (${message.replace(/[;.] .*$/, "")})`);
  }
}

/** How long the host waits for a service to start, ms; it may continue starting after that. */
const START_WAIT_MS = 1_000;

function serviceRegistration(
  on: (hook: string, handler: OpenClawHandler) => void,
  host: RegistrationHost,
  place: { config: unknown; logger: PluginApi["logger"]; stateDir: () => string },
): (service: OpenClawService) => void {
  return (service) => {
    const { config, logger } = place;
    const context = { config, logger, workspaceDir: currentFolder() };
    on("gateway_start", async () => {
      const started = Promise.resolve(service.start({ ...context, stateDir: place.stateDir() }));
      started.catch((error: unknown) => host.noteError(error));
      const waited = new AbortController();
      const late = pause(START_WAIT_MS, undefined, { signal: waited.signal, ref: false });
      // Only the first of the two matters.
      late.catch(() => undefined);
      await Promise.race([started.catch(() => undefined), late]);
      waited.abort();
    });
    on("gateway_stop", () => service.stop?.({ ...context, stateDir: place.stateDir() }));
  };
}

/** Proxy of an object that records its requested members. */
function watched<T extends Record<string, unknown>>(
  name: string,
  target: T,
  seen: { used: Set<string>; missing: Set<string> },
  note: NoteIdle,
): T {
  return new Proxy(target, {
    get(object, key, receiver) {
      const own: unknown = Reflect.get(object, key, receiver);
      if (typeof key !== "string") return own;
      const value = own ?? (name === "api" ? idleRegistration(key, note) : undefined);
      (value === undefined && key !== "pluginConfig" ? seen.missing : seen.used).add(`${name}.${key}`);
      const nested = name === "api" && key === "runtime";
      return nested ? watched("api.runtime", value as Record<string, unknown>, seen, note) : value;
    },
  });
}
