/** Installs and updates plugins. No plugin code is run: npm unpacks it, and its manifest is read. */
import { defined } from "@pagurus/core/data/defined";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "@pagurus/core/config/load-config";
import { isPagurusError, PagurusError, toPagurusError } from "@pagurus/contract/errors";
import { writeReason } from "@pagurus/core/platform/atomic-files";
import { assertAllowedFiles, filesDigest } from "../allowed-files.ts";
import { assertNotBundled } from "../bundled-id.ts";
import { findPluginEntry } from "../plugin-entry.ts";
import {
  installFolder,
  packageFolder,
  readInstalls,
  writeInstalls,
  type InstallRecord,
} from "../installs.ts";
import { linkedPlugins, type ListedPlugin } from "../listed.ts";
import { isPluginId, type PluginManifest } from "../manifest.ts";
import { assertNeedsMet } from "../needs.ts";
import { inspectInstall, lockedPackage, type PackageFacts } from "./install-facts.ts";
import { addPackage, fetchTarball, integrityOf, runScripts, type FetchOptions } from "./package.ts";
import { parseSource, type PluginSource } from "./install-source.ts";
import { dropStaging, makeStaging, placeStaging, sweep, withPluginsLock } from "./staging.ts";

/** Steps of an installation, in order; an interruption at any of them leaves the old one in use. */
export type InstallStep =
  | "sweep"
  | "stage"
  | "fetch"
  | "dependencies"
  | "inspect"
  | "scripts"
  | "place"
  | "record"
  | "done";

export interface InstallOptions extends FetchOptions {
  home: string;
  /** Called before each step. */
  onStep?(step: InstallStep): void;
}

export interface InstallResult {
  record: InstallRecord;
  manifest: PluginManifest;
  facts: PackageFacts;
  /** The previous version. */
  replaced?: string;
  /** An update found the same package; nothing was changed. */
  unchanged: boolean;
}

/**
 * Fetches a plugin with npm, checks it and installs it, without enabling it. Throws `plugin_install_failed`, `plugin_invalid`,
 * `plugin_duplicate_id`, `turn_aborted`; the previous installation is kept then.
 */
export function installPlugin(source: PluginSource, options: InstallOptions): Promise<InstallResult> {
  return locked(options, (records, linked) => makeInstall(source, options, { records, linked }));
}

/**
 * Installs a plugin again from its original source. Scripts of a new version run only with `allowScripts`. Throws as
 * `installPlugin`, and `plugin_unknown`, `usage_invalid` for a missing folder or tarball.
 */
export function updatePlugin(id: string, options: InstallOptions): Promise<InstallResult> {
  return locked(options, (records, linked) => {
    const old = records.find((record) => record.id === id);
    if (!old)
      throw new PagurusError(
        "plugin_unknown",
        `No plugin ${JSON.stringify(id)} is installed, and a linked one always follows its folder; "pagurus plugins list" shows both.`,
        { details: { plugin: id } },
      );
    // Reports a missing folder or tarball.
    const source: PluginSource =
      old.source === "npm" ? { kind: old.source, spec: old.spec } : parseSource(old.spec, "/");
    return makeInstall(source, options, { records, linked, old });
  });
}

function locked<T>(
  options: InstallOptions,
  work: (records: InstallRecord[], linked: ListedPlugin[]) => Promise<T>,
): Promise<T> {
  const { home, signal } = options;
  return withPluginsLock(home, signal, async () => {
    try {
      // Fails on an unreadable configuration before anything is fetched.
      const linked = linkedPlugins(loadConfig({ home }).config, home);
      options.onStep?.("sweep");
      const records = readInstalls(home);
      sweep(home, records);
      return await work(records, linked);
    } catch (error) {
      if (isPagurusError(error)) throw error;
      throw new PagurusError(
        "plugin_install_failed",
        `The plugin could not be installed: ${writeReason(error).replace(/\.$/, "")}.`,
        { cause: error },
      );
    }
  });
}

/** The state at the start of an installation. */
interface Present {
  records: readonly InstallRecord[];
  linked: readonly ListedPlugin[];
  /** The installation to update. */
  old?: InstallRecord;
}

async function makeInstall(
  source: PluginSource,
  options: InstallOptions,
  present: Present,
): Promise<InstallResult> {
  const { home } = options;
  const { old } = present;
  options.onStep?.("stage");
  const staging = makeStaging(home);
  try {
    options.onStep?.("fetch");
    const tarball = await fetchTarball(source, staging, options);
    const integrity = integrityOf(join(staging, tarball));
    const there = old?.integrity === integrity ? unchanged(old, options) : undefined;
    if (there) return there;
    options.onStep?.("dependencies");
    const name = await addPackage(tarball, integrity, source, staging, options);
    options.onStep?.("inspect");
    let { manifest, facts } = inspectStaging(staging, name, present);
    if (options.allowScripts && facts.scripts.length > 0) {
      options.onStep?.("scripts");
      await runScripts(source, staging, options);
      // The scripts may have changed anything.
      ({ manifest, facts } = inspectStaging(staging, name, present));
    }
    // Its content is unpacked, and its integrity recorded.
    rmSync(join(staging, tarball), { force: true });
    return commit({ source, staging, name, integrity, manifest, facts }, options, present.records);
  } finally {
    // Moved already, unless something failed.
    dropIfThere(staging);
  }
}

interface Made {
  source: PluginSource;
  staging: string;
  name: string;
  integrity: string;
  manifest: PluginManifest;
  facts: PackageFacts;
}

function commit(made: Made, options: InstallOptions, records: readonly InstallRecord[]): InstallResult {
  const { source, staging, name, integrity, manifest, facts } = made;
  const { home } = options;
  const { id } = manifest;
  const files = filesDigest(staging);
  const version = lockedPackage(staging, name).version ?? manifest.version ?? "0.0.0";
  options.onStep?.("place");
  const folder = placeStaging(home, staging, id, version);
  const record: InstallRecord = {
    id,
    source: source.kind,
    spec: source.spec,
    package: name,
    version,
    integrity,
    files,
    folder,
    scripts: options.allowScripts ?? false,
    installedAt: new Date().toISOString(),
  };
  options.onStep?.("record");
  writeInstalls(home, [...records.filter((other) => other.id !== id), record]);
  options.onStep?.("done");
  const replaced = records.find((other) => other.id === id)?.version;
  return { record, manifest, facts, unchanged: false, ...defined({ replaced }) };
}

/** Checks the unpacked package before a host can find it. */
function inspectStaging(
  staging: string,
  name: string,
  present: Present,
): { manifest: PluginManifest; facts: PackageFacts } {
  const facts = inspectInstall(staging, name);
  const { manifest } = findPluginEntry(join(staging, "node_modules", name));
  if (manifest?.declared !== true)
    throw new PagurusError(
      "plugin_invalid",
      `The package ${name} is not a plugin: it has neither a pagurus.plugin.json nor an openclaw.plugin.json; check the name.`,
      { details: { package: name } },
    );
  assertFreeId(manifest.id, name, present);
  assertNeedsMet(manifest);
  return { manifest, facts };
}

function assertFreeId(id: string, name: string, { records, linked, old }: Present): void {
  const refuse = (code: "plugin_invalid" | "plugin_duplicate_id", what: string): PagurusError =>
    new PagurusError(code, what, { details: { plugin: id, package: name } });
  if (!isPluginId(id))
    throw refuse(
      "plugin_invalid",
      `The package ${name} has the id ${JSON.stringify(id.slice(0, 80))}, which no plugin can have; report it to its author.`,
    );
  assertNotBundled(id, `The package ${name}`);
  if (old && old.id !== id)
    throw refuse(
      "plugin_invalid",
      `The package ${name} now has the plugin id ${id} instead of ${old.id}; uninstall ${old.id} and install it again.`,
    );
  // A case-insensitive file system would put both into one folder.
  const other = records.find((record) => record.id.toLowerCase() === id.toLowerCase());
  if (other && (other.id !== id || other.package !== name))
    throw refuse(
      "plugin_duplicate_id",
      `The plugin ${other.id} is installed already from the package ${other.package}; uninstall it before you install ${name}.`,
    );
  const link = linked.find(({ path }) => linkedId(path) === id);
  if (link)
    throw refuse(
      "plugin_duplicate_id",
      `The plugin ${id} is linked already from ${link.path}; uninstall that before you install ${name}.`,
    );
}

function linkedId(path: string): string | undefined {
  try {
    return findPluginEntry(path).id;
  } catch {
    // A broken one is not loaded under any id.
    return undefined;
  }
}

/** The unchanged result; undefined if it must be installed again: broken, with other files, or with scripts that now have to run. */
function unchanged(record: InstallRecord, { home, allowScripts }: InstallOptions): InstallResult | undefined {
  if (allowScripts && !record.scripts) return undefined;
  const { manifest, facts, problem } = describeInstall(home, record);
  if (problem !== undefined || record.files === undefined) return undefined;
  return manifest?.id === record.id && facts ? { record, manifest, facts, unchanged: true } : undefined;
}

export interface Described {
  manifest?: PluginManifest;
  facts?: PackageFacts;
  /** Why it cannot be used. */
  problem?: string;
}

/** Describes an installed plugin. Never throws. */
export function describeInstall(home: string, record: InstallRecord): Described {
  try {
    const { manifest } = findPluginEntry(packageFolder(home, record));
    const facts = inspectInstall(installFolder(home, record), record.package);
    assertAllowedFiles(home, record);
    return manifest ? { manifest, facts } : {};
  } catch (error) {
    return { problem: toPagurusError(error).message };
  }
}

function dropIfThere(staging: string): void {
  try {
    dropStaging(staging);
  } catch {
    // A folder that cannot be removed now is swept by the next command.
    return;
  }
}
