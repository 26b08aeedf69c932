import { strangeText } from "../strange-text.ts";
import { defined } from "@pagurus/core/data/defined";
import type { PackageFacts } from "@pagurus/host/plugin/install/install-facts";
import { checkPluginConfig } from "@pagurus/host/plugin/plugin-config-check";
import { describeInstall } from "@pagurus/host/plugin/install/install";
import { describeLink } from "@pagurus/host/plugin/install/install-facts";
import type { KnownPlugin } from "@pagurus/host/plugin/install/manage";
import { entryOf, stateOf, type PluginState } from "@pagurus/host/plugin/listed";
import { unmetNeeds } from "@pagurus/host/plugin/needs";
import { plural } from "@pagurus/core/data/plain-numbers";
import { bytes } from "@pagurus/host/command/layout";
import type { PagurusConfig } from "@pagurus/core/config/config-types";

/** Report of a plugin, printed by `--json` and shown as text. */
export interface PluginReport {
  id: string;
  state: PluginState;
  origin: "installed" | "linked";
  /** Folder or file. */
  path: string;
  kinds: readonly string[];
  name?: string;
  version?: string;
  description?: string;
  package?: string;
  source?: string;
  spec?: string;
  integrity?: string;
  installedAt?: string;
  /** Keys of `plugins.slots` that name it. */
  slots: string[];
  facts?: PackageFacts;
  /** Whether install scripts were allowed. */
  scriptsAllowed?: boolean;
  /** Whether it has a schema for its settings. */
  configSchema: boolean;
  /** Why it cannot be loaded. */
  problems: string[];
  warnings: string[];
  /** Registrations that nothing here uses; known once it was loaded. */
  notUsed?: string[];
}

/**
 * Builds the report of a plugin; without facts about its files where `look` is false, since those need a walk through all of
 * its files.
 */
export function pluginReport(
  plugin: KnownPlugin,
  config: PagurusConfig,
  home: string,
  look: boolean,
): PluginReport {
  const { id, origin, path, record, entry } = plugin;
  const manifest = entry?.manifest;
  const settings = manifest && checkPluginConfig(manifest, entryOf(config, id)?.config);
  const found = look ? (record ? describeInstall(home, record) : describeLink(path)) : {};
  const needs = manifest ? unmetNeeds(manifest) : undefined;
  const problems = [
    plugin.problem ?? found.problem ?? [],
    needs?.problems ?? [],
    settings?.problems ?? [],
  ].flat();
  const version = record?.version ?? manifest?.version;
  return {
    id,
    state: stateOf(config, plugin),
    origin,
    path,
    kinds: manifest?.kinds ?? [],
    slots: Object.entries(config.plugins?.slots ?? {})
      .filter(([, named]) => named === id)
      .map(([slot]) => slot),
    configSchema: manifest?.configSchema !== undefined,
    problems,
    warnings: [...(manifest?.warnings ?? []), ...(needs?.warnings ?? []), ...(settings?.warnings ?? [])],
    ...(manifest?.name !== undefined && { name: manifest.name }),
    ...defined({ version }),
    ...(manifest?.description !== undefined && { description: manifest.description }),
    ...(record && {
      package: record.package,
      source: record.source,
      spec: record.spec,
      integrity: record.integrity,
      installedAt: record.installedAt,
      scriptsAllowed: record.scripts,
    }),
    ...defined({ facts: found.facts }),
  };
}

/** The lines with problems and warnings of a plugin. */
export function verdictLines({ problems, warnings }: Pick<PluginReport, "problems" | "warnings">): string[] {
  return [
    ...problems.map((problem) => `✗ ${strangeText(problem, 500)}`),
    ...warnings.map((warning) => `! ${strangeText(warning, 500)}`),
  ];
}

function scriptsText({ facts, scriptsAllowed }: PluginReport): string {
  const scripts = facts?.scripts ?? [];
  if (scripts.length === 0) return "none";
  const names = strangeText(scripts.join(", "));
  return scriptsAllowed === true ? `run, of ${names}` : `not run, of ${names}`;
}

function sourceText(report: PluginReport): string {
  const { origin, source, spec, path } = report;
  return origin === "linked" ? `link to ${path}` : `${source ?? "?"} (${strangeText(spec ?? "?")})`;
}

/** The lines of `plugins info`, and of an installation before its confirmation. */
export function reportLines(report: PluginReport): string[] {
  const { id, name, version, description, kinds, facts, slots, state } = report;
  const rows: [string, string | undefined][] = [
    ["Plugin", [strangeText(id), version && strangeText(version)].filter(Boolean).join(" ")],
    [
      "Name",
      [name, description]
        .filter((text) => text !== undefined)
        .map((text) => strangeText(text))
        .join(": ") || undefined,
    ],
    ["Kinds", kinds.length === 0 ? "not said" : strangeText(kinds.join(", "))],
    ["State", slots.length === 0 ? state : `${state}, in the slot ${slots.join(", ")}`],
    ["From", sourceText(report)],
    ["Package", report.package],
    ["Integrity", report.integrity],
    ["Folder", report.origin === "installed" ? report.path : undefined],
    ["Holds", facts && `${plural(facts.dependencies, "dependency", "dependencies")}, ${bytes(facts.bytes)}`],
    ["Scripts", facts && scriptsText(report)],
    ["Native", facts && (facts.native ? "holds compiled code" : "no compiled code")],
    ["Not used", report.notUsed && strangeText(report.notUsed.join(", "), 1_000)],
    ["Settings", report.configSchema ? "checked by its schema" : "not described"],
  ];
  const lines = rows
    .filter((row): row is [string, string] => row[1] !== undefined && row[1] !== "")
    .map(([label, text]) => `${`${label}:`.padEnd(11)}${text}`);
  return [...lines, ...verdictLines(report)];
}
