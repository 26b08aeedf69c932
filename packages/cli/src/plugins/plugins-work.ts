import { strangeText } from "../strange-text.ts";
import { loadConfig } from "@pagurus/core/config/load-config";
import { resolveHome } from "@pagurus/core/config/config-paths";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import {
  findKnown,
  knownPlugins,
  setEnabled,
  uninstallPlugin,
  type ResetSlot,
} from "@pagurus/host/plugin/install/manage";
import { silentLogger } from "@pagurus/core/platform/log";
import { oneLine, table } from "@pagurus/host/command/layout";
import { type Cli, printJson, printLine } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED } from "../cli-failure.ts";
import { pluginReport, reportLines, type PluginReport } from "./plugin-text.ts";

export interface PluginOptions {
  json?: boolean;
}

/** `plugins list`. */
export function pluginsList(cli: Cli, options: PluginOptions): Promise<number> {
  const home = resolveHome(cli.env);
  const { config } = loadConfig({ home });
  const reports = knownPlugins(home).map((plugin) => pluginReport(plugin, config, home, false));
  if (options.json === true) printJson(cli, reports);
  else if (reports.length === 0) printLine(cli.stdout, 'No plugins; "pagurus plugins install" installs one.');
  else for (const line of listLines(reports)) printLine(cli.stdout, line);
  return Promise.resolve(EXIT_DONE);
}

function listLines(reports: readonly PluginReport[]): string[] {
  const rows = reports.map(({ id, version, kinds, origin, state, slots, problems }) => [
    strangeText(id, 60),
    strangeText(version ?? "-", 20),
    strangeText(kinds.join(", ") || "-", 40),
    origin,
    [
      problems.length > 0 ? `${state}, broken` : state,
      ...(slots.length > 0 ? [`slot ${slots.join(", ")}`] : []),
    ].join(", "),
  ]);
  const broken = reports.flatMap(({ id, problems }) =>
    problems.slice(0, 1).map((problem) => `✗ ${strangeText(id, 60)}: ${strangeText(problem, 500)}`),
  );
  return [...table(["id", "version", "kinds", "origin", "state"], rows), ...broken];
}

/** `plugins info`. Exit 1 when the plugin cannot be loaded. One that is enabled is loaded, as each run does. */
export async function pluginsInfo(cli: Cli, id: string, options: PluginOptions): Promise<number> {
  const home = resolveHome(cli.env);
  const { config } = loadConfig({ home });
  const report = pluginReport(findKnown(home, id), config, home, true);
  if (report.state === "enabled" && report.problems.length === 0) {
    const { problems, warnings, notUsed } = await registeredBy(report.id, config, home);
    report.problems.push(...problems);
    report.warnings.push(...warnings);
    if (notUsed.length > 0) report.notUsed = notUsed;
  }
  if (options.json === true) printJson(cli, report);
  else for (const line of reportLines(report)) printLine(cli.stdout, line);
  return report.problems.length === 0 ? EXIT_DONE : EXIT_FAILED;
}

/** How long to wait for late errors of a registered plugin, ms. */
const LATE_ERRORS_MS = 100;

/** Loads the plugin and reports what only registration shows. */
async function registeredBy(
  id: string,
  config: PagurusConfig,
  home: string,
): Promise<Pick<PluginReport, "problems" | "warnings"> & { notUsed: string[] }> {
  const { loadPlugins } = await import("@pagurus/host/plugin/load-plugins");
  const { PluginRegistry } = await import("@pagurus/host/plugin/registry");
  const llmComplete = (): Promise<never> => Promise.reject(new Error("Inspecting a plugin calls no model."));
  const registry = new PluginRegistry({ config, logger: silentLogger, baseDir: home, llmComplete });
  await loadPlugins(registry, { config, home, only: id });
  // Code started by the plugin may fail right away.
  await new Promise((resolve) => void setTimeout(resolve, LATE_ERRORS_MS));
  registry.close();
  const facts = registry.facts.filter((fact) => fact.id === id);
  return {
    problems: registry.failures.map(({ reason }) => reason),
    warnings: facts.flatMap(({ idleGates, errors }) => [
      ...(idleGates.length > 0
        ? [`It has gates that nothing here calls, so they guard nothing: ${idleGates.join(", ")}.`]
        : []),
      ...errors.map((error) => `It has an error that nothing in it handles: ${error}`),
    ]),
    notUsed: facts.flatMap(({ notUsed }) => notUsed),
  };
}

/** `plugins enable` and `plugins disable`. */
export async function pluginsSwitch(
  cli: Cli,
  named: string,
  enabled: boolean,
  options: PluginOptions,
): Promise<number> {
  const home = resolveHome(cli.env);
  const { id, resetSlots, changed } = await setEnabled(home, named, enabled);
  if (options.json === true) printJson(cli, { id, enabled, ...(enabled ? { changed } : { resetSlots }) });
  else {
    printLine(cli.stdout, `The plugin ${id} is ${enabled ? "enabled" : "disabled"}.`);
    if (changed)
      printLine(
        cli.stdout,
        "Its files are not those that you allowed before; they are allowed as they are now.",
      );
    for (const slot of resetSlots) printLine(cli.stdout, resetText(slot));
  }
  for (const line of enabled ? slotHints(home, id) : slotWarnings(home, id)) printLine(cli.stderr, line);
  return EXIT_DONE;
}

const SLOTS = [
  { key: "contextEngine", kind: "context-engine", what: "the engine" },
  { key: "memory", kind: "memory", what: "the memory" },
] as const;

/** Commands that put an enabled plugin into use. */
export function slotHints(home: string, id: string): string[] {
  const { kinds, slots } = reportOf(home, id);
  return SLOTS.filter(({ kind, key }) => kinds.includes(kind) && !slots.includes(key)).map(
    ({ key, what }) => `To use it as ${what}: pagurus config set plugins.slots.${key} ${id}`,
  );
}

function slotWarnings(home: string, id: string): string[] {
  return reportOf(home, id).slots.map(
    (slot) =>
      `warning: plugins.slots.${slot} still names ${id}, so runs are refused until it is changed or removed.`,
  );
}

function reportOf(home: string, id: string): PluginReport {
  return pluginReport(findKnown(home, id), loadConfig({ home }).config, home, false);
}

/** `plugins uninstall`. */
export async function pluginsUninstall(cli: Cli, named: string, options: PluginOptions): Promise<number> {
  const home = resolveHome(cli.env);
  const { plugin, resetSlots } = await uninstallPlugin(home, named);
  const { id, origin, path } = plugin;
  if (options.json === true) {
    printJson(cli, { id, origin, path, resetSlots });
    return EXIT_DONE;
  }
  const stays = origin === "linked" ? ` Its files in ${path} are unchanged.` : "";
  printLine(
    cli.stdout,
    `The plugin ${oneLine(id, 200)} is ${origin === "linked" ? "unlinked" : "uninstalled"}.${stays}`,
  );
  for (const slot of resetSlots) printLine(cli.stdout, resetText(slot));
  return EXIT_DONE;
}

function resetText({ key, value }: ResetSlot): string {
  if (value === undefined) return `${key} is back at its default.`;
  return `${key} is "${value}" now, because it named an engine of this plugin; pagurus config set ${key} chooses another.`;
}
