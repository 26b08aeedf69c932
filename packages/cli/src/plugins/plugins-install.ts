import { createInterface } from "node:readline";
import { loadConfig } from "@pagurus/core/config/load-config";
import { expandPath, resolveHome } from "@pagurus/core/config/config-paths";
import { toPagurusError } from "@pagurus/contract/errors";
import {
  installPlugin,
  updatePlugin,
  type InstallOptions,
  type InstallResult,
  type InstallStep,
} from "@pagurus/host/plugin/install/install";
import { findKnown, linkPlugin, setEnabled } from "@pagurus/host/plugin/install/manage";
import { parseSource } from "@pagurus/host/plugin/install/install-source";
import { readInstalls } from "@pagurus/host/plugin/installs";
import { plural } from "@pagurus/core/data/plain-numbers";
import { type Cli, printJson, printLine, styleFor } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, printFailure, usageError } from "../cli-failure.ts";
import { pluginReport, reportLines, verdictLines, type PluginReport } from "./plugin-text.ts";
import { slotHints } from "./plugins-work.ts";
import { defined } from "@pagurus/core/data/defined";

export interface InstallCommandOptions {
  link?: boolean;
  enable?: boolean;
  yes?: boolean;
  allowScripts?: boolean;
  json?: boolean;
}

export interface UpdateOptions {
  allowScripts?: boolean;
  json?: boolean;
}

/** Aborts at the first interrupt; a second one exits at once, and the next command cleans up. */
async function interruptible<T>(cli: Cli, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const stop = cli.onInterrupt(() => {
    if (controller.signal.aborted) cli.exit(EXIT_INTERRUPTED);
    controller.abort();
  });
  try {
    return await work(controller.signal);
  } finally {
    stop();
  }
}

const STEP_TEXT: Partial<Record<InstallStep, string>> = {
  fetch: "fetching the package…",
  dependencies: "unpacking it with its dependencies…",
};

function installOptions(cli: Cli, signal: AbortSignal, allowScripts?: boolean): InstallOptions {
  const style = styleFor(cli.stderr, cli.env);
  return {
    home: resolveHome(cli.env),
    env: cli.env,
    signal,
    ...defined({ allowScripts }),
    onStep: (step) => {
      const text = STEP_TEXT[step];
      if (text !== undefined && cli.stderr.isTTY === true) printLine(cli.stderr, style("dim", text));
    },
  };
}

/** `plugins install`. */
export async function pluginsInstall(
  cli: Cli,
  what: string,
  options: InstallCommandOptions,
): Promise<number> {
  const home = resolveHome(cli.env);
  if (options.link === true && options.allowScripts === true)
    throw usageError(
      "A link runs no install scripts, so --allow-scripts does not go with --link; leave one out.",
    );
  const source = options.link === true ? undefined : parseSource(what, cli.cwd);
  const id = source
    ? await interruptible(
        cli,
        async (signal) =>
          (await installPlugin(source, installOptions(cli, signal, options.allowScripts))).record.id,
      )
    : (await linkPlugin(home, expandPath(what, cli.cwd))).id;
  const before = reportOf(home, id);
  if (options.json !== true) for (const line of reportLines(before)) printLine(cli.stdout, line);
  const wanted = options.enable === true || options.yes === true;
  if (before.state !== "enabled" && (wanted || (options.json !== true && (await askToEnable(cli)))))
    await setEnabled(home, id, true);
  const report = reportOf(home, id);
  if (options.json === true) printJson(cli, report);
  else printState(cli, home, report);
  return isBroken(report) ? EXIT_FAILED : EXIT_DONE;
}

function reportOf(home: string, id: string): PluginReport {
  return pluginReport(findKnown(home, id), loadConfig({ home }).config, home, true);
}

/** Whether an enabled plugin cannot be loaded. */
function isBroken({ state, problems }: PluginReport): boolean {
  return state === "enabled" && problems.length > 0;
}

function printState(cli: Cli, home: string, report: PluginReport): void {
  const { id, state } = report;
  printLine(cli.stdout, "");
  if (state !== "enabled") {
    printLine(cli.stdout, `It is not loaded (${state}). To enable it: pagurus plugins enable ${id}`);
    return;
  }
  if (isBroken(report)) {
    printLine(cli.stdout, refused(id));
    return;
  }
  printLine(cli.stdout, "It is enabled: the next start of pagurus loads it.");
  for (const hint of slotHints(home, id)) printLine(cli.stdout, hint);
}

function refused(id: string): string {
  return `It is enabled and cannot be loaded: repair it, or pagurus plugins disable ${id}`;
}

/** Asks for confirmation; false without a terminal. */
async function askToEnable(cli: Cli): Promise<boolean> {
  if (cli.stdin.isTTY !== true || cli.stderr.isTTY !== true) return false;
  const style = styleFor(cli.stderr, cli.env);
  printLine(cli.stderr, "Once enabled it runs inside pagurus, with all your rights.");
  cli.stderr.write(style("bold", "Enable it now? [y/N] "));
  const lines = createInterface({ input: cli.stdin });
  const answer = await new Promise<string>((resolve) => {
    lines.once("line", resolve).once("close", () => resolve(""));
  });
  lines.close();
  return /^y(es)?$/i.test(answer.trim());
}

/**
 * `plugins update`. Each plugin separately: one that cannot be updated stays unchanged. Exit 1 when there is one, and when an
 * enabled one cannot be loaded.
 */
export async function pluginsUpdate(
  cli: Cli,
  named: readonly string[],
  options: UpdateOptions,
): Promise<number> {
  const home = resolveHome(cli.env);
  const ids = named.length > 0 ? named : readInstalls(home).map(({ id }) => id);
  const results: object[] = [];
  let failures = 0;
  let broken = 0;
  await interruptible(cli, async (signal) => {
    for (const id of ids) {
      try {
        const result = await updatePlugin(id, installOptions(cli, signal, options.allowScripts));
        const report = reportOf(home, id);
        if (isBroken(report)) broken += 1;
        results.push(updateResult(result, report));
        if (options.json !== true)
          for (const line of updateLines(result, report)) printLine(cli.stdout, line);
      } catch (error) {
        const { code, message } = toPagurusError(error);
        if (signal.aborted || ids.length === 1) throw error;
        failures += 1;
        results.push({ id, error: { code, message } });
        printFailure(cli, { code, message });
      }
    }
  });
  if (options.json === true) printJson(cli, results);
  else if (ids.length === 0) printLine(cli.stdout, "No plugins are installed.");
  else if (failures > 0) printLine(cli.stdout, `${plural(failures, "plugin")} unchanged.`);
  return failures + broken === 0 ? EXIT_DONE : EXIT_FAILED;
}

/** JSON output of an update. */
function updateResult(result: InstallResult, { state, problems, warnings }: PluginReport): object {
  const { record, replaced, unchanged } = result;
  const scriptsNotRun = heldBack(result);
  return {
    id: record.id,
    version: record.version,
    unchanged,
    ...defined({ replaced }),
    ...(scriptsNotRun.length > 0 && { scriptsNotRun }),
    state,
    problems,
    warnings,
  };
}

/** Packages whose install scripts were skipped. */
function heldBack({ record, facts, unchanged }: InstallResult): string[] {
  return unchanged || record.scripts ? [] : facts.scripts;
}

function updateLines(result: InstallResult, report: PluginReport): string[] {
  const { id } = report;
  const scripts =
    heldBack(result).length === 0 ? "" : "; its install scripts were not run, --allow-scripts runs them";
  const verdict = report.state === "enabled" ? verdictLines(report) : [];
  return [`${updateText(result)}${scripts}.`, ...verdict, ...(isBroken(report) ? [refused(id)] : [])];
}

function updateText({ record, replaced, unchanged }: InstallResult): string {
  const { id, version } = record;
  if (unchanged) return `${id} ${version}: nothing new`;
  return replaced === undefined || replaced === version
    ? `${id} ${version}: installed again`
    : `${id}: ${replaced} → ${version}`;
}
