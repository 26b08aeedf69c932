/** `pagurus engines test` and `pagurus runtimes test`: the conformance suites for engines and runtimes of plugins. */
import { readFileSync } from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { parseJson5 } from "@pagurus/core/config/json5";
import { configFromValue, readConfigText } from "@pagurus/core/config/load-config";
import { versionPassed } from "@pagurus/core/platform/version-notes";
import { recordOf } from "@pagurus/core/data/record-fields";
import { isListed, isOwnSuite, TRIED, type TriedProgram } from "@pagurus/core/data/tried-programs";
import { configFile, resolveHome } from "@pagurus/core/config/config-paths";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import { findPluginEntry } from "@pagurus/host/plugin/plugin-entry";
import { entryOf, listPlugins, pluginState } from "@pagurus/host/plugin/listed";
import type { CheckResult } from "@pagurus/testkit/index";
import { movedSettings, runApart, type Scratch } from "./apart.ts";
import { type Cli, printJson, printLine, styleFor } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED, usageError } from "../cli-failure.ts";
import type { NamedReport, SuiteJob, SuiteNews, SuiteProgram } from "./suite-job.ts";
import { defined } from "@pagurus/core/data/defined";

export interface ConformanceOptions {
  /** Comma-separated ids. */
  only?: string;
  /** Path of a JSON file. */
  gaps?: string;
  json?: boolean;
}

const MARKS = { passed: "✓", failed: "✗", skipped: "·" } as const;
const COLOURS = { passed: "green", failed: "red", skipped: "dim" } as const;
const ID_WIDTH = 28;
const ACP = "acp";
/** Timeout of a check, ms: most runtimes start a program in each, which takes many seconds on a busy machine. */
const CHECK_MS = 60_000;
/** The same for an agent, which starts a program of its own. */
const AGENT_CHECK_MS = 120_000;
/** Runtimes whose settings name programs and no store. */
const BUNDLED_RUNTIMES = new Set(["codex", "claude", "acp"]);

/** `engines test`. Exit 1 when a check fails. */
export function enginesTest(
  cli: Cli,
  dir: string,
  options: ConformanceOptions & { engine?: string },
): Promise<number> {
  const path = resolve(cli.cwd, dir);
  const { id: plugin } = findPluginEntry(path);
  const config = configOf(resolveHome(cli.env));
  const { engine } = options;
  return reported(cli, options, (scratch) => ({
    kind: "engine",
    path,
    plugin,
    entry: movedSettings(entryOf(config, plugin) ?? {}, cli, scratch),
    ...defined({ engine }),
  }));
}

/**
 * `runtimes test`: a runtime, an agent of the runtime `acp`, or a program under `pagurus wire` or `pagurus acp`. Exit 1 when a check fails; a
 * pass of all is remembered for the program's version. Throws `runtime_unknown`, `runtime_unsupported`.
 */
export async function runtimesTest(
  cli: Cli,
  id: string,
  options: ConformanceOptions & { plugin?: string },
): Promise<number> {
  const name = basename(id);
  const agent = agentNamed(id);
  let program: SuiteProgram | undefined;
  let runtime = agent ? ACP : id;
  const code = await reported(
    cli,
    options,
    (scratch) => {
      if (isOwnSuite(name)) return { kind: "program", id: name, command: pathOf(cli, id) };
      const plugins = pluginsOf(cli, options.plugin, scratch);
      if (!agent) return { kind: "runtime", id, plugins, deadlineMs: CHECK_MS };
      const { api, beside } = agent;
      const model = defined({ api, beside });
      const deadlineMs = AGENT_CHECK_MS;
      return { kind: "runtime", id: ACP, plugins: withAgent(plugins, id), deadlineMs, ...model };
    },
    (news) => {
      if (news.type === "program") ({ program } = news);
      if (news.type === "begins") runtime = news.id;
    },
  );
  const isWhole = options.only === undefined && options.gaps === undefined;
  if (code === EXIT_DONE && isWhole && program) versionPassed(resolveHome(cli.env), runtime, program);
  return code;
}

/** Finds an agent of the runtime `acp` by its program, for example `codex-acp`. Throws `runtime_unsupported` for one without a suite. */
function agentNamed(id: string): TriedProgram | undefined {
  const program: TriedProgram | undefined = isListed(id) ? TRIED[id] : undefined;
  if (program?.runtime !== ACP || isOwnSuite(id)) return undefined;
  if (program.suite !== undefined) return program;
  throw new PagurusError(
    "runtime_unsupported",
    `No suite can try ${id}, since its model is only set in its own settings; run a turn with it instead.`,
  );
}

/** A path is relative to the user's folder; a name is looked up in PATH. */
function pathOf(cli: Cli, command: string): string {
  return /[/\\]/.test(command) ? resolve(cli.cwd, command) : command;
}

/** Selects the agent that turns of the runtime `acp` use. */
function withAgent(plugins: Record<string, unknown>, agentId: string): Record<string, unknown> {
  const entries = recordOf(plugins["entries"]);
  const entry = recordOf(entries[ACP]);
  const config = { ...recordOf(entry["config"]), agentId };
  return { ...plugins, entries: { ...entries, [ACP]: { ...entry, config } } };
}

/** Job fields that differ between engines and runtimes. */
type Subject = SuiteJob extends infer J
  ? J extends SuiteJob
    ? Omit<J, "home" | "only" | "gaps">
    : never
  : never;

/** The user's configuration, read without storing that it was checked: nothing is written to the home. */
export function configOf(home: string): PagurusConfig {
  const file = configFile(home);
  const text = readConfigText(file);
  return text === undefined ? {} : configFromValue(parseJson5(text, file), home).config;
}

/** The user's plugin configuration, with installed ones as paths, so that a scratch home has them too. */
export function pluginsOf(cli: Cli, folder: string | undefined, scratch: Scratch): Record<string, unknown> {
  const home = resolveHome(cli.env);
  const config = configOf(home);
  const paths = listPlugins(config, home)
    .filter(({ path, origin, record }) => {
      if (origin === "linked") return true;
      return pluginState(config, record?.id ?? path, origin) === "enabled";
    })
    .map(({ path }) => path);
  if (folder !== undefined) paths.push(resolve(cli.cwd, folder));
  const entries = Object.entries(config.plugins?.entries ?? {}).map(([id, entry]) => [
    id,
    BUNDLED_RUNTIMES.has(id) ? entry : movedSettings(entry, cli, scratch),
  ]);
  return { ...config.plugins, entries: Object.fromEntries(entries) as unknown, load: { paths } };
}

/** Runs a suite in a child process; without `--json` each result is shown as it arrives. */
async function reported(
  cli: Cli,
  options: ConformanceOptions,
  subject: (scratch: Scratch) => Subject,
  onNews: (news: SuiteNews) => void = () => undefined,
): Promise<number> {
  const shows = options.json !== true;
  const reports: NamedReport[] = [];
  const choice = {
    ...(options.only === undefined ? {} : { only: options.only.split(",").map((id) => id.trim()) }),
    ...(options.gaps === undefined ? {} : { gaps: gapsIn(resolve(cli.cwd, options.gaps)) }),
  };
  const code = await runApart<SuiteJob, SuiteNews>(cli, {
    module: new URL(`./suite-process${extname(import.meta.url)}`, import.meta.url),
    what: "suite",
    make: (scratch) => ({ ...subject(scratch), ...choice, home: join(scratch.userHome, ".pagurus") }),
    news: (news) => {
      onNews(news);
      if (news.type === "report") reports.push(news.report);
      if (shows) showNews(cli, news);
    },
  });
  if (code !== undefined) return code;
  if (!shows) printJson(cli, reports.length > 1 ? reports : reports[0]);
  return reports.every(({ ok }) => ok) ? EXIT_DONE : EXIT_FAILED;
}

function showNews(cli: Cli, news: SuiteNews): void {
  if (news.type === "begins")
    printLine(cli.stdout, styleFor(cli.stdout, cli.env)("bold", `The ${news.kind} ${news.id}`));
  if (news.type === "result") show(cli, news.result);
  if (news.type !== "report") return;
  const { passed, failed, skipped } = news.report;
  printLine(cli.stdout, `${passed} passed, ${failed} failed, ${skipped} skipped.`);
}

function show(cli: Cli, { id, title, status, reason }: CheckResult): void {
  const style = styleFor(cli.stdout, cli.env);
  const note = status === "skipped" ? (reason ?? "") : title;
  const line = `${MARKS[status]} ${id.padEnd(ID_WIDTH)} ${note}`;
  printLine(cli.stdout, style(COLOURS[status], line));
  if (status === "failed") printLine(cli.stdout, `  ${" ".repeat(ID_WIDTH)} → ${reason ?? ""}`);
}

/** Reads the file of known gaps. Throws `usage_invalid` if it is not an object of texts by id. */
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
    throw usageError(`${file} is not a JSON object with a reason for each check's id.`);
  return read as Record<string, string>;
}
