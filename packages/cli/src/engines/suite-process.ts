/**
 * The process that runs a conformance suite: started by `apart.ts` with its own home, since a plugin finds its files by
 * `os.homedir()`, `os.tmpdir()` and environment variables.
 */
import { dirname } from "node:path";
import { createPagurus } from "@pagurus/app/app";
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import { PagurusError } from "@pagurus/contract/errors";
import type { PagurusOptions } from "@pagurus/contract/host/host";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { versionIn } from "@pagurus/core/data/tried-programs";
import { namedProgram, pathFrom } from "@pagurus/core/platform/executables";
import { outputOf } from "@pagurus/core/platform/start-program";
import { silentLogger } from "@pagurus/core/platform/log";
import { runInEngineFrame } from "@pagurus/host/plugin/engine-frame";
import { loadPlugins } from "@pagurus/host/plugin/load-plugins";
import { PluginRegistry } from "@pagurus/host/plugin/registry";
import { NotOffered } from "@pagurus/testkit/conformance-check";
import { runEngineSuite, runHarnessSuite, type CheckResult, type SuiteReport } from "@pagurus/testkit/index";
import { programRecipe } from "@pagurus/testkit/program/program-recipes";
import { runProgramSuite } from "@pagurus/testkit/program/program-suite";
import { launcher } from "../launcher.ts";
import { usageError } from "../cli-failure.ts";
import { sendNews, serveJob } from "./apart-job.ts";
import type { SuiteJob, SuiteNews } from "./suite-job.ts";
import { defined } from "@pagurus/core/data/defined";

type JobOf<K extends SuiteJob["kind"]> = Extract<SuiteJob, { kind: K }>;

interface Choice {
  only?: readonly string[];
  gaps?: Record<string, string>;
  signal: AbortSignal;
  tell(result: CheckResult): void;
}

const QUESTION_MS = 60_000;

function send(news: SuiteNews): Promise<void> {
  return sendNews(news);
}

async function testEngines(job: JobOf<"engine">, signal: AbortSignal): Promise<void> {
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
    await reported({ job, id, signal }, (choice) =>
      runEngineSuite({
        ...choice,
        create: async ({ dir: agentDir }) =>
          framed(await factory({ config, agentDir, workspaceDir: agentDir })),
      }),
    );
  }
}

async function testRuntime(job: JobOf<"runtime">, signal: AbortSignal): Promise<void> {
  const { home, plugins, api, beside, deadlineMs } = job;
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
  await reported({ job, id: runtime, signal }, (choice) =>
    runHarnessSuite({
      ...choice,
      open: createPagurus,
      runtime,
      plugins,
      env,
      ...defined({ api }),
      ...(beside === undefined ? {} : { beside: new RegExp(beside) }),
      ...defined({ deadlineMs }),
    }),
  );
}

async function testProgram(job: JobOf<"program">, signal: AbortSignal): Promise<void> {
  const { id, command } = job;
  const recipe = programRecipe(id);
  if (!recipe) throw new PagurusError("internal", `The suite has no settings for ${id}.`);
  // Scripts of the programs need this Node.js, too.
  const env = { PATH: pathFrom(dirname(process.execPath), process.env["PATH"]) };
  const { file } = namedProgram(command, { env });
  if (file === undefined) throw usageError(`${command} is not installed.`);
  const version = versionIn(await outputOf(file, ["--version"], { env, timeout: QUESTION_MS })) ?? "unknown";
  await send({ type: "program", program: { program: file, version } });
  const pagurus = [process.execPath, launcher()];
  await reported({ job, id, signal }, (choice) =>
    runProgramSuite({ ...choice, command: file, recipe, pagurus, open: createPagurus, env }),
  );
}

function runtimeIn(known: readonly { id: string; aliases: readonly string[] }[], id: string): string {
  const found = known.find((each) => each.id === id || each.aliases.includes(id));
  if (found) return found.id;
  throw new PagurusError(
    "runtime_unknown",
    `No runtime ${JSON.stringify(id)} is registered; choose one of ${known.map((each) => each.id).join(", ")}, or name its plugin with --plugin.`,
  );
}

async function reported(
  { job, id, signal }: { job: SuiteJob; id: string; signal: AbortSignal },
  run: (choice: Choice) => Promise<SuiteReport>,
): Promise<void> {
  const { kind, only, gaps } = job;
  await send({ type: "begins", kind, id });
  const report = await run({
    ...defined({ only, gaps }),
    signal,
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

serveJob<SuiteJob>((job, signal) => {
  if (job.kind === "engine") return testEngines(job, signal);
  return job.kind === "runtime" ? testRuntime(job, signal) : testProgram(job, signal);
});
