/** `pagurus engines test` and `pagurus runtimes test`: the conformance suites over what is not in our tree. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { ContextEngine } from "../contract/engine.ts";
import { PagurusError } from "../contract/errors.ts";
import type { PagurusOptions } from "../contract/host.ts";
import { loadConfig } from "../config/load.ts";
import { resolveHome } from "../config/paths.ts";
import type { PagurusConfig } from "../config/types.ts";
import { silentLogger } from "../platform/log.ts";
import { runInEngineFrame } from "../plugin/engine-frame.ts";
import { findPluginEntry } from "../plugin/entry.ts";
import { entryOf, listPlugins, pluginState } from "../plugin/listed.ts";
import { loadPlugins } from "../plugin/load.ts";
import { PluginRegistry } from "../plugin/registry.ts";
import { NotOffered } from "../testkit/check.ts";
import { runEngineSuite, runHarnessSuite, type CheckResult, type SuiteReport } from "../testkit/index.ts";
import { type Cli, printJson, printLine, styleFor, withPagurus } from "./cli.ts";
import { EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, usageError } from "./failure.ts";

export interface ConformanceOptions {
  /** Ids, separated by commas. */
  only?: string;
  /** Path of a JSON file. */
  gaps?: string;
  json?: boolean;
}

const MARKS = { passed: "✓", failed: "✗", skipped: "·" } as const;
const COLOURS = { passed: "green", failed: "red", skipped: "dim" } as const;
const ID_WIDTH = 28;

/** `engines test`. Exit 1 when a check fails. */
export function enginesTest(
  cli: Cli,
  dir: string,
  options: ConformanceOptions & { engine?: string },
): Promise<number> {
  return inScratch(cli, async (home, signal) => {
    const path = resolve(cli.cwd, dir);
    const { id } = findPluginEntry(path);
    const { config: own } = loadConfig({ home: resolveHome(cli.env) });
    const config = {
      plugins: { load: { paths: [path] }, entries: { [id]: { ...entryOf(own, id), enabled: true } } },
    };
    const registry = await registryOf(config, home);
    const [failure] = registry.failures;
    if (failure)
      throw new PagurusError("plugin_failed", `The plugin ${failure.pluginId} failed: ${failure.reason}`);
    const ids = registry.engineIds.filter((each) => options.engine === undefined || each === options.engine);
    if (ids.length === 0) {
      const known = registry.engineIds.join(", ") || "none";
      throw usageError(`The plugin ${id} has no ${options.engine ?? "engine"} (its engines: ${known}).`);
    }
    const reports: Named[] = [];
    for (const engine of ids) {
      const factory = registry.engine(engine);
      const run = (choice: Choice): Promise<SuiteReport> =>
        runEngineSuite({
          ...choice,
          signal,
          create: async ({ dir: agentDir }) =>
            framed(await factory({ config, agentDir, workspaceDir: agentDir })),
        });
      reports.push(await reported(cli, options, { kind: "engine", id: engine }, run));
    }
    if (options.json === true)
      printJson(cli, options.engine === undefined && reports.length > 1 ? reports : reports[0]);
    return reports.every(({ ok }) => ok) ? EXIT_DONE : EXIT_FAILED;
  });
}

/** `runtimes test`. Exit 1 when a check fails. Throws `runtime_unknown`. */
export function runtimesTest(
  cli: Cli,
  id: string,
  options: ConformanceOptions & { plugin?: string },
): Promise<number> {
  return inScratch(cli, async (home, signal) => {
    const plugins = pluginsOf(cli, options.plugin);
    const env = { PATH: cli.env["PATH"] };
    const host: PagurusOptions = {
      home,
      env: { ...env, HOME: home, PAGURUS_NO_PROBE: "1" },
      config: { plugins, logging: { level: "silent" } },
    };
    const known = await withPagurus(cli, (pagurus) => pagurus.runtimes.list(), host);
    const runtime = runtimeIn(known, id);
    const run = (choice: Choice): Promise<SuiteReport> =>
      runHarnessSuite({ ...choice, signal, open: cli.open, runtime, plugins, env });
    const report = await reported(cli, options, { kind: "runtime", id: runtime }, run);
    if (options.json === true) printJson(cli, report);
    return report.ok ? EXIT_DONE : EXIT_FAILED;
  });
}

type Named = { kind: "engine" | "runtime"; id: string } & SuiteReport;

interface Choice {
  only?: readonly string[];
  gaps?: Record<string, string>;
  tell(result: CheckResult): void;
}

/** The first interrupt ends the run and takes its folders away, the second leaves at once. */
async function inScratch(
  cli: Cli,
  work: (home: string, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const controller = new AbortController();
  const stop = cli.onInterrupt(() => {
    if (controller.signal.aborted) cli.exit(EXIT_INTERRUPTED);
    controller.abort();
  });
  const home = mkdtempSync(join(tmpdir(), "pagurus-conformance-"));
  try {
    return await work(home, controller.signal);
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    printLine(cli.stderr, "The run was interrupted.");
    return EXIT_INTERRUPTED;
  } finally {
    rmSync(home, { recursive: true, force: true });
    stop();
  }
}

/** The engine, called as the host calls it: what its compactions leave to the host is not the engine's to be checked. */
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

/** What the user's configuration says of plugins, the installed ones as paths, so that a scratch home has them too. */
function pluginsOf(cli: Cli, folder: string | undefined): Record<string, unknown> {
  const home = resolveHome(cli.env);
  const { config } = loadConfig({ home });
  const paths = listPlugins(config, home)
    .filter(({ path, origin, record }) => {
      if (origin === "linked") return true;
      return pluginState(config, record?.id ?? path, origin) === "enabled";
    })
    .map(({ path }) => path);
  if (folder !== undefined) paths.push(resolve(cli.cwd, folder));
  return { ...config.plugins, load: { paths } };
}

function runtimeIn(known: readonly { id: string; aliases: readonly string[] }[], id: string): string {
  const found = known.find((each) => each.id === id || each.aliases.includes(id));
  if (found) return found.id;
  throw new PagurusError(
    "runtime_unknown",
    `No runtime ${JSON.stringify(id)} is registered (there are: ${known.map((each) => each.id).join(", ")}).`,
  );
}

/** Runs a suite; without `--json` each result is shown as it comes. */
async function reported(
  cli: Cli,
  options: ConformanceOptions,
  subject: Pick<Named, "kind" | "id">,
  run: (choice: Choice) => Promise<SuiteReport>,
): Promise<Named> {
  const shows = options.json !== true;
  if (shows)
    printLine(cli.stdout, styleFor(cli.stdout, cli.env)("bold", `The ${subject.kind} ${subject.id}`));
  const report = await run({
    ...(options.only === undefined ? {} : { only: options.only.split(",").map((id) => id.trim()) }),
    ...(options.gaps === undefined ? {} : { gaps: gapsIn(resolve(cli.cwd, options.gaps)) }),
    tell: (result) => {
      if (shows) show(cli, result);
    },
  });
  const { passed, failed, skipped } = report;
  if (shows) printLine(cli.stdout, `${passed} passed, ${failed} failed, ${skipped} skipped.`);
  return { ...subject, ...report };
}

function show(cli: Cli, { id, title, status, reason }: CheckResult): void {
  const style = styleFor(cli.stdout, cli.env);
  const said = status === "skipped" ? (reason ?? "") : title;
  const line = `${MARKS[status]} ${id.padEnd(ID_WIDTH)} ${said}`;
  printLine(cli.stdout, style(COLOURS[status], line));
  if (status === "failed") printLine(cli.stdout, `  ${" ".repeat(ID_WIDTH)} → ${reason ?? ""}`);
}

/** Throws `usage_invalid` for a file that is none of texts by id. */
function gapsIn(file: string): Record<string, string> {
  let read: unknown;
  try {
    read = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new PagurusError("usage_invalid", `The gaps cannot be read from ${file}: ${String(error)}`, {
      cause: error,
    });
  }
  const isTable = typeof read === "object" && read !== null && !Array.isArray(read);
  if (!isTable || !Object.values(read as object).every((reason) => typeof reason === "string"))
    throw usageError(`${file} is no JSON object with a reason for each check's id.`);
  return read as Record<string, string>;
}
