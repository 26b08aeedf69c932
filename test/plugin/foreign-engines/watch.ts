/** Records an engine's calls, the parameters it reads, and what its plugin requests of the host, without changing them. */
import type { HookName } from "../../../packages/contract/src/host/hooks.ts";
import { HOOK_RULES } from "../../../packages/contract/src/host/hook-rules.ts";
import { askedOfHost } from "../../../packages/host/src/plugin/compat/plugin-api.ts";
import type { ContextEngine, ContextEngineFactory } from "../../../packages/contract/src/engine/engine.ts";
import { PluginRegistry } from "../../../packages/host/src/plugin/registry.ts";

export interface EngineUse {
  info: Record<string, unknown>;
  /** Members that the host called, and how often. */
  members: Record<string, number>;
  /** `member.parameter` that the engine read and received. */
  params: string[];
  /** `member.parameter` that it looked for and never received. */
  absent: string[];
  /** Other registrations of its plugin, and of others. */
  registered: { hooks: string[]; tools: string[]; commands: string[] };
  /** Members of `api` that the plugin used, and requested ones that are absent. */
  api: { used: string[]; missing: string[] };
}

/** Watches the engine of this id in every host created from now on, until `end`. */
export function watchEngines(engineId: string): { use(): EngineUse; end(): void } {
  const members: Record<string, number> = {};
  const params = new Map<string, boolean>();
  let info: Record<string, unknown> = {};
  let registered: EngineUse["registered"] = { hooks: [], tools: [], commands: [] };
  const own = PluginRegistry.prototype.engine;
  PluginRegistry.prototype.engine = function engine(this: PluginRegistry, id: string): ContextEngineFactory {
    const factory = own.call(this, id);
    if (id !== engineId) return factory;
    registered = {
      hooks: (Object.keys(HOOK_RULES) as HookName[]).filter((name) => this.hooks(name).length > 0),
      tools: this.tools.map(({ name }) => name),
      commands: this.commands.map(({ name }) => name),
    };
    return async (context) => {
      const made = await factory(context);
      ({ info } = made as unknown as { info: Record<string, unknown> });
      return watched(made, members, params);
    };
  };
  return {
    use: () => ({
      info,
      members,
      params: namesWhere(params, true),
      absent: namesWhere(params, false),
      registered,
      api: askedOfHost(engineId),
    }),
    end: () => {
      PluginRegistry.prototype.engine = own;
    },
  };
}

function namesWhere(params: ReadonlyMap<string, boolean>, given: boolean): string[] {
  return [...params].flatMap(([name, wasGiven]) => (wasGiven === given ? [name] : [])).toSorted();
}

function watched(
  engine: ContextEngine,
  members: Record<string, number>,
  params: Map<string, boolean>,
): ContextEngine {
  return new Proxy(engine, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function" || typeof name !== "string") return value;
      return (given: unknown) => {
        members[name] = (members[name] ?? 0) + 1;
        return (value as (given: unknown) => unknown).call(target, reads(given, name, params));
      };
    },
  });
}

/** Parameters that record which of them were read; the host's two records, too. */
function reads(given: unknown, path: string, seen: Map<string, boolean>): unknown {
  if (typeof given !== "object" || given === null) return given;
  return new Proxy(given, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof key !== "string") return value;
      const name = `${path}.${key}`;
      seen.set(name, value !== undefined || seen.get(name) === true);
      return key === "runtimeContext" || key === "runtimeSettings"
        ? reads(value, `${path}.${key}`, seen)
        : value;
    },
  });
}
