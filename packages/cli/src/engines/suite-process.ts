/**
 * The process that runs a conformance suite: started by `apart.ts` with its own home, since a plugin finds its files by
 * `os.homedir()`, `os.tmpdir()` and environment variables.
 */
import { createPagurus } from "@pagurus/app/app";
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import { PagurusError } from "@pagurus/contract/errors";
import type { PagurusOptions } from "@pagurus/contract/host/host";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { silentLogger } from "@pagurus/core/platform/log";
import { runInEngineFrame } from "@pagurus/host/plugin/engine-frame";
import { loadPlugins } from "@pagurus/host/plugin/load-plugins";
import { PluginRegistry } from "@pagurus/host/plugin/registry";
import { NotOffered } from "@pagurus/testkit/conformance-check";
import { runEngineSuite, runHarnessSuite, type CheckResult, type SuiteReport } from "@pagurus/testkit/index";
import { usageError } from "../cli-failure.ts";
import { failureNews, type SuiteJob, type SuiteNews, type SuiteOrder } from "./suite-job.ts";

type JobOf<K extends SuiteJob["kind"]> = Extract<SuiteJob, { kind: K }>;

interface Choice {
  only?: readonly string[];
  gaps?: Record<string, string>;
  signal: AbortSignal;
  tell(result: CheckResult): void;
}

const stop = new AbortController();

function send(news: SuiteNews): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) return resolve();
    process.send(news, () => resolve());
    return undefined;
  });
}

async function testEngines(job: JobOf<"engine">): Promise<void> {
  const { path, plugin, home, entry } = job;
  const config = {
    plugins: { load: { paths: [path] }, entries: { [plugin]: { ...entry, enabled: true } } },
  };
  const registry = await registryOf(config, home);
  const [failure] = registry.failures;
  if (failure)
    throw new PagurusError("plugin_failed", `The plugin ${failure.pluginId} failed: ${failure.reason}`);
  const ids = registry.engineIds.filter((each) => job.engine === undefined || each === job.engine);
  if (ids.length === 0) {
    const known = registry.engineIds.join(", ") || "none";
    throw usageError(`The plugin ${plugin} has no ${job.engine ?? "engine"} (its engines: ${known}).`);
  }
  for (const id of ids) {
    const factory = registry.engine(id);
    await reported(job, id, (choice) =>
      runEngineSuite({
        ...choice,
        create: async ({ dir: agentDir }) =>
          framed(await factory({ config, agentDir, workspaceDir: agentDir })),
      }),
    );
  }
}

async function testRuntime(job: JobOf<"runtime">): Promise<void> {
  const { home, plugins, api, beside } = job;
  const env = { PATH: process.env["PATH"] };
  const host: PagurusOptions = {
    home,
    env: { ...env, HOME: home, PAGURUS_NO_PROBE: "1" },
    config: { plugins, logging: { level: "silent" } },
  };
  const pagurus = await createPagurus(host);
  const known = await pagurus.runtimes.list({ programs: true });
  await pagurus.close();
  const runtime = runtimeIn(known, job.id);
  const program = known.find(({ id }) => id === runtime)?.program;
  if (program && "version" in program) await send({ type: "program", program });
  await reported(job, runtime, (choice) =>
    runHarnessSuite({
      ...choice,
      open: createPagurus,
      runtime,
      plugins,
      env,
      ...(api === undefined ? {} : { api }),
      ...(beside === undefined ? {} : { beside: new RegExp(beside) }),
    }),
  );
}

function runtimeIn(known: readonly { id: string; aliases: readonly string[] }[], id: string): string {
  const found = known.find((each) => each.id === id || each.aliases.includes(id));
  if (found) return found.id;
  throw new PagurusError(
    "runtime_unknown",
    `No runtime ${JSON.stringify(id)} is registered (registered: ${known.map((each) => each.id).join(", ")}).`,
  );
}

async function reported(
  job: SuiteJob,
  id: string,
  run: (choice: Choice) => Promise<SuiteReport>,
): Promise<void> {
  const { kind, only, gaps } = job;
  await send({ type: "begins", kind, id });
  const report = await run({
    ...(only ? { only } : {}),
    ...(gaps ? { gaps } : {}),
    signal: stop.signal,
    tell: (result) => void send({ type: "result", result }),
  });
  await send({ type: "report", report: { kind, id, ...report } });
}

/** Wraps the engine in the host's calls: compactions that it leaves to the host are not checked. */
function framed(engine: ContextEngine): ContextEngine {
  const delegateCompaction = (): Promise<never> =>
    Promise.reject(new NotOffered("The engine leaves its compactions to the host."));
  return new Proxy(engine, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      return (...given: unknown[]): unknown =>
        runInEngineFrame({ memorySections: [], delegateCompaction }, () =>
          Reflect.apply(value, target, given),
        );
    },
  });
}

async function registryOf(config: PagurusConfig, home: string): Promise<PluginRegistry> {
  const llmComplete = (): Promise<never> =>
    Promise.reject(new PagurusError("model_unknown", "The suite gives an engine its model with each call."));
  const registry = new PluginRegistry({ config, logger: silentLogger, baseDir: home, llmComplete });
  await loadPlugins(registry, { config, home });
  return registry;
}

async function run(job: SuiteJob): Promise<void> {
  try {
    await (job.kind === "engine" ? testEngines(job) : testRuntime(job));
    await send({ type: "done" });
  } catch (error) {
    await send(failureNews(error));
  }
  // Timers and servers left by a plugin do not keep the process alive.
  process.exit();
}

/** Reports an unhandled error; it does not fail the running check. */
function report(error: unknown): void {
  process.stderr.write(`pagurus: unhandled error: ${String(error)}\n`);
}

process.on("unhandledRejection", report).on("uncaughtException", report);
process.on("message", (order: SuiteOrder) => {
  if (order.type === "run") void run(order.job);
  else stop.abort();
});
process.on("disconnect", () => process.exit());
