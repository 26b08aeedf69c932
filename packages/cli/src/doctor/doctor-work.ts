import { existsSync } from "node:fs";
import { basename } from "node:path";
import { toPagurusError } from "@pagurus/contract/errors";
import { BUNDLED_ENGINES } from "@pagurus/core/config/bundled";
import { SLOT_REASONS } from "@pagurus/core/config/defaults";
import { loadConfig, type LoadedConfig } from "@pagurus/core/config/load-config";
import { agentDir, resolveHome } from "@pagurus/core/config/config-paths";
import { runDoctor, type DoctorInput } from "@pagurus/doctor/run-doctor";
import { repairConfigFile } from "@pagurus/doctor/config-repair";
import type { Finding } from "@pagurus/doctor/finding";
import type { SkillsSeen } from "@pagurus/doctor/skills-check";
import type { RuntimesSeen } from "@pagurus/doctor/runtimes-check";
import { discover } from "@pagurus/core/model/discover";
import { agentsWithDeletions, pendingDeletions } from "@pagurus/core/platform/deletions";
import { silentLogger } from "@pagurus/core/platform/log";
import { loadPlugins } from "@pagurus/host/plugin/load-plugins";
import { PluginRegistry } from "@pagurus/host/plugin/registry";
import { plural } from "@pagurus/core/data/plain-numbers";
import { type Cli, printJson, printLine, styleFor, withPagurus } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED } from "../cli-failure.ts";
import { defined } from "@pagurus/core/data/defined";

export interface DoctorOptions {
  fix?: boolean;
  json?: boolean;
}

const MARKS = { ok: "✓", info: "·", warn: "!", error: "✗" } as const;
const COLOURS = { ok: "green", info: "dim", warn: "yellow", error: "red" } as const;

/** The configuration, or undefined where it is broken: the doctor's own check reports the problem. */
function readableConfig(home: string): LoadedConfig | undefined {
  try {
    return loadConfig({ home });
  } catch {
    // The doctor reports it as a finding.
    return undefined;
  }
}

interface HostLook {
  /** Errors that would refuse a run before it starts. */
  refused: { code: string; message: string }[];
  facts?: RuntimesSeen["facts"];
  skills?: SkillsSeen;
  why?: string;
}

/** Opens the host and collects its own report. */
async function askHost(cli: Cli): Promise<HostLook> {
  try {
    return await withPagurus(cli, async (pagurus) => {
      const { problems, Runtime } = await pagurus.status({ cwd: cli.cwd });
      const skills = await pagurus.skills({ cwd: cli.cwd });
      const commands = await pagurus.customCommands.list({ cwd: cli.cwd });
      const facts = await pagurus.runtimes.list({ programs: true }).catch(() => undefined);
      return {
        refused: problems,
        skills: { skills, commands },
        ...defined({ facts, why: Runtime.why }),
      };
    });
  } catch (error) {
    return { refused: [toPagurusError(error)] };
  }
}

async function registeredIn(
  loaded: LoadedConfig,
  home: string,
  refused: readonly string[],
): Promise<DoctorInput["registered"]> {
  const { config, contextEngine, slotSource } = loaded;
  const registry = new PluginRegistry({
    config,
    logger: silentLogger,
    baseDir: home,
    llmComplete: () => Promise.reject(new Error("The doctor calls no model.")),
  });
  await loadPlugins(registry, { config, home });
  const engineIds = new Set<string>([...BUNDLED_ENGINES, ...registry.engineIds]);
  // Bundled engines are known to the host only.
  if (!refused.includes("engine_unknown")) engineIds.add(contextEngine);
  return {
    engineIds: [...engineIds],
    contextEngine,
    slotReason: SLOT_REASONS[slotSource],
    failures: registry.failures,
    plugins: registry.facts,
    engines: registry.engineIds.map((id) => ({ id, factory: registry.engine(id) })),
    config,
  };
}

function print(cli: Cli, findings: readonly Finding[]): void {
  const style = styleFor(cli.stdout, cli.env);
  for (const { level, check, detail, fix, place } of findings) {
    const at = place && !detail.includes(place.file) ? `${place.file}:${place.line}:${place.column}: ` : "";
    const label = style("dim", check.padEnd(9));
    printLine(cli.stdout, `${style(COLOURS[level], MARKS[level])} ${label}${at}${detail}`);
    if (fix !== undefined) printLine(cli.stdout, `  ${" ".repeat(9)}→ ${fix}`);
  }
  const number = (level: Finding["level"]): number => findings.filter((one) => one.level === level).length;
  printLine(cli.stdout, `${plural(number("error"), "error")}, ${plural(number("warn"), "warning")}.`);
}

/** Shows what a rewrite removes and adds, before it is written; with `--json` it is part of the finding. */
function showDiff(cli: Cli, options: DoctorOptions, diff: readonly string[]): void {
  if (options.json === true) return;
  const style = styleFor(cli.stdout, cli.env);
  for (const line of diff) {
    const colour = line.startsWith("-") ? "red" : line.startsWith("+") ? "green" : "dim";
    printLine(cli.stdout, style(colour, line));
  }
  printLine(cli.stdout, "");
}

/** Whether the configured channels can be connected. Their libraries are loaded only where there is one. */
async function channelFindings(cli: Cli, loaded: LoadedConfig | undefined): Promise<Finding[]> {
  if (Object.keys(loaded?.config.channels ?? {}).length === 0) return [];
  const { testedChannels } = await import("../channels/channels-test.ts");
  return (await testedChannels(cli, { isThorough: false })).map((one): Finding => {
    const check = "channels";
    if (!("code" in one) && one.problems.length > 0)
      return {
        level: "warn",
        check,
        detail: `${one.id} (${one.kind}) connects. ${one.problems.join(" ")}`,
        fix: `pagurus channels test ${one.id} shows all of it.`,
      };
    if (!("code" in one))
      return {
        level: "ok",
        check,
        detail: `${one.id} (${one.kind}) connects; it receives ${one.capabilities.inbound} and sends ${one.capabilities.outbound}.`,
      };
    const detail = `${one.id}: ${one.message}`;
    // Of another host's form, or of a time when this one had no channels: it was never opened.
    if (one.kind === "")
      return { level: "warn", check, detail, fix: `Set its kind, or remove channels.${one.id}.` };
    const level = one.code === "channel_failed" || one.code === "deadline_exceeded" ? "warn" : "error";
    return { level, check, detail, fix: `pagurus channels test ${one.id} tries it again.` };
  });
}

/** Keys of deletions that a crash interrupted, by their records; opening the host finishes them. */
function interruptedDeletions(home: string): Map<string, string> {
  const records = agentsWithDeletions(home).flatMap((id) => pendingDeletions(agentDir(home, id)));
  return new Map(records.map(({ file, sessions }) => [basename(file), sessions[0]?.key ?? ""]));
}

function finishedDeletions(home: string, before: ReadonlyMap<string, string>): Finding[] {
  const still = interruptedDeletions(home);
  const done = [...before].filter(
    ([file, key]) => ![...still].some(([name, left]) => name === file || left === key),
  );
  return done.map(([, key]) => ({
    level: "ok",
    check: "store",
    detail: `The deletion of ${key} had been interrupted, and is finished now.`,
  }));
}

/** `pagurus doctor`. Exit 1 when there is an error. */
export async function doctor(cli: Cli, options: DoctorOptions): Promise<number> {
  const home = resolveHome(cli.env);
  // First, so that all checks see the repaired file.
  const repaired = options.fix === true ? repairConfigFile(home, (diff) => showDiff(cli, options, diff)) : [];
  const loaded = readableConfig(home);
  // Opening the host would create the home folder, and a check changes nothing.
  const left = interruptedDeletions(home);
  const look: HostLook = loaded && existsSync(home) ? await askHost(cli) : { refused: [] };
  const { refused } = look;
  const codes = refused.map(({ code }) => code);
  const registered = loaded && (await registeredIn(loaded, home, codes));
  const found = await runDoctor({
    home,
    env: cli.env,
    fix: options.fix === true,
    findModels: () => discover(loaded?.config ?? {}, cli.env),
    refused: refused.length > 0,
    ...defined({ registered, skills: look.skills }),
    ...(look.facts ? { runtimes: { facts: look.facts, why: look.why, config: loaded?.config } } : {}),
  });
  const findings = [
    ...repaired,
    ...finishedDeletions(home, left),
    ...found,
    ...(await channelFindings(cli, loaded)),
  ];
  for (const { code, message } of refused) {
    // The doctor's own engine check reports it.
    if (code === "engine_unknown") continue;
    findings.push({ level: "error", check: "run", detail: `A run would be refused: ${message} [${code}]` });
  }
  if (options.json === true) printJson(cli, findings);
  else print(cli, findings);
  return findings.some((finding) => finding.level === "error") ? EXIT_FAILED : EXIT_DONE;
}
