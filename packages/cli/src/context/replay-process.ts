/** The process that replays sessions: the code of engines runs in it, with a home of its own and without a model. */
import { registerEngines } from "@pagurus/app/bundled";
import { BUNDLED_ENGINES } from "@pagurus/core/config/bundled";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import { PagurusError } from "@pagurus/contract/errors";
import type { PluginTool } from "@pagurus/contract/host/plugin";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { silentLogger } from "@pagurus/core/platform/log";
import { runInEngineFrame } from "@pagurus/host/plugin/engine-frame";
import { loadPlugins } from "@pagurus/host/plugin/load-plugins";
import { PluginRegistry } from "@pagurus/host/plugin/registry";
import { replayFiles } from "@pagurus/replay/replay-job";
import { delegatedCompaction, type ReplayedEngine } from "@pagurus/replay/replayed-engine";
import { sendNews, serveJob } from "../engines/apart-job.ts";
import { usageError } from "../cli-failure.ts";
import type { EngineChoice, OrderNews, ReplayOrder } from "./replay-order.ts";

/** Timeout of one call of an engine or of its tool, ms. */
const CALL_MS = 120_000;

async function enginesOf(
  choice: EngineChoice,
  order: ReplayOrder,
  signal: AbortSignal,
): Promise<ReplayedEngine[]> {
  const named = choice.kind === "named" ? choice.id : undefined;
  const isBundled = BUNDLED_ENGINES.some((id) => id === named);
  const config = configFor(choice, order);
  const registry = await registryOf(config, order.home);
  if (isBundled) {
    const engines = { selected: named ?? "", home: order.home };
    await registry.register("pagurus", (api) => registerEngines(api, engines), { bundled: true });
  } else await loadPlugins(registry, { config, home: order.home });
  const [failure] = registry.failures;
  if (failure && choice.kind === "path")
    throw new PagurusError("plugin_failed", `The plugin ${failure.pluginId} failed: ${failure.reason}`);
  const ids = named === undefined ? registry.engineIds : [named];
  if (choice.kind === "path" && ids.length === 0)
    throw usageError(`The plugin ${choice.path} has no engine.`);
  return ids.map((id) => {
    const factory = registry.engine(id);
    const names = new Set(registry.engineTools(id));
    return {
      key: `${choice.place} ${id}`,
      id,
      config,
      create: async (context) => guarded(await factory(context), id, signal),
      tools: registry.tools.filter(({ name }) => names.has(name)).map(timed),
    };
  });
}

function configFor(choice: EngineChoice, { plugins, compaction }: ReplayOrder): PagurusConfig {
  const agents = compaction === undefined ? {} : { agents: { defaults: { compaction } } };
  if (choice.kind === "named")
    return { ...agents, plugins: { ...plugins, slots: { contextEngine: choice.id } } } as PagurusConfig;
  const entries = { [choice.plugin]: { ...choice.entry, enabled: true } };
  return { ...agents, plugins: { load: { paths: [choice.path] }, entries } } as PagurusConfig;
}

async function registryOf(config: PagurusConfig, home: string): Promise<PluginRegistry> {
  const llmComplete = (): Promise<never> =>
    Promise.reject(new PagurusError("model_unavailable", "A replay calls no model."));
  return new PluginRegistry({ config, logger: silentLogger, baseDir: home, llmComplete });
}

/** Each call of the engine in the host's frame and with a deadline. */
function guarded(engine: ContextEngine, id: string, signal: AbortSignal): ContextEngine {
  const frame = { memorySections: [], delegateCompaction: delegatedCompaction };
  return new Proxy(engine, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      // After an abort an engine is still closed.
      const own = key === "dispose" ? {} : { signal };
      return (...given: unknown[]): unknown =>
        withDeadline(() => runInEngineFrame(frame, (): unknown => Reflect.apply(value, target, given)), {
          ms: CALL_MS,
          label: `${String(key)} of the engine ${id}`,
          ...own,
        });
    },
  });
}

function timed(tool: PluginTool): PluginTool {
  return {
    ...tool,
    execute: (params, context) =>
      withDeadline((signal) => tool.execute(params, { ...context, signal }), {
        ms: CALL_MS,
        label: `The tool ${tool.name}`,
        signal: context.signal,
      }),
  };
}

serveJob<ReplayOrder>(async (order, signal) => {
  const send = (news: OrderNews): void => void sendNews(news);
  const engines: ReplayedEngine[] = [];
  for (const choice of order.engines) {
    const from = choice.kind === "path" ? choice.path : choice.id;
    for (const engine of await enginesOf(choice, order, signal)) {
      send({ type: "engine", key: engine.key, id: engine.id, place: choice.place, from });
      engines.push(engine);
    }
  }
  const { files, compacted, window, most } = order;
  await replayFiles({ files, compacted: new Set(compacted), engines, window, most, signal, onNews: send });
});
