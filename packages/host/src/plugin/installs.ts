/** `<home>/plugins/installs.json`: the installed plugins, their sources and exact versions. */
import { isInside } from "@pagurus/core/platform/inside";
import { readFileSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import { isPluginId } from "./manifest.ts";

export interface InstallRecord {
  id: string;
  source: "npm" | "tarball" | "folder";
  /** Source for updates: the npm spec, or an absolute path. */
  spec: string;
  /** Name and version of the package. */
  package: string;
  version: string;
  /** Of the package's tarball: `sha512-…`, in npm's format. */
  integrity: string;
  /** Digest of the installed files when the user allowed them; absent until an older installation is enabled or updated. */
  files?: string;
  /** Folder of this installation, relative to `<home>/plugins`. */
  folder: string;
  /** Whether install scripts were allowed to run. */
  scripts: boolean;
  /** ISO 8601. */
  installedAt: string;
}

/** Marker file in each install folder: nothing without it is ever removed. */
export const INSTALL_MARKER = ".pagurus-install.json";

export function pluginsFolder(home: string): string {
  return join(home, "plugins");
}

export function installsFile(home: string): string {
  return join(pluginsFolder(home), "installs.json");
}

/** Absolute folder of an installation: npm's, with `node_modules` in it. */
export function installFolder(home: string, record: InstallRecord): string {
  return join(pluginsFolder(home), record.folder);
}

/** Absolute folder of the plugin itself. */
export function packageFolder(home: string, record: InstallRecord): string {
  return join(installFolder(home, record), "node_modules", record.package);
}

/** The installed plugins, ordered by id; none where the file is missing. Throws `plugin_install_failed`. */
export function readInstalls(home: string): InstallRecord[] {
  const file = installsFile(home);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(String((error as NodeJS.ErrnoException).code))) return [];
    throw unreadableInstalls(file, error);
  }
  try {
    const { plugins } = JSON.parse(text) as { plugins?: unknown };
    if (typeof plugins !== "object" || plugins === null)
      throw new PagurusError("plugin_install_failed", "no list of plugins");
    const records = Object.entries(plugins).map(([id, value]) => checkedRecord(home, id, value));
    return records.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  } catch (error) {
    throw unreadableInstalls(file, error);
  }
}

/** Replaces the file as a whole. From this moment an installation counts. */
export function writeInstalls(home: string, records: readonly InstallRecord[]): void {
  const plugins = Object.fromEntries(records.map(({ id, ...rest }) => [id, rest]));
  writeFileAtomic(installsFile(home), `${JSON.stringify({ version: 1, plugins }, null, 2)}\n`);
}

const TEXTS = ["spec", "package", "version", "integrity", "folder", "installedAt"] as const;

function checkedRecord(home: string, id: string, value: unknown): InstallRecord {
  const fields = { ...(value as Partial<InstallRecord>), id };
  const { source, scripts, files } = fields;
  const texts = TEXTS.every((key) => typeof fields[key] === "string" && fields[key] !== "");
  const known = source === "npm" || source === "tarball" || source === "folder";
  const digest = files === undefined || typeof files === "string";
  if (!isPluginId(id) || !texts || !known || !digest || typeof scripts !== "boolean")
    throw new PagurusError(
      "plugin_install_failed",
      `the entry of ${JSON.stringify(id.slice(0, 80))} is not complete`,
    );
  const record = fields as InstallRecord;
  const root = resolve(pluginsFolder(home));
  const places = [record.folder, record.package].every((path) => !isAbsolute(path));
  const folder = installFolder(home, record);
  if (!places || folder === root || !isInside(root, folder) || !isInside(folder, packageFolder(home, record)))
    throw new PagurusError(
      "plugin_install_failed",
      `the entry of ${JSON.stringify(id)} names a folder elsewhere`,
    );
  return record;
}

function unreadableInstalls(file: string, cause: unknown): PagurusError {
  const why = cause instanceof Error ? cause.message.split("\n")[0] : "unknown error";
  return new PagurusError(
    "plugin_install_failed",
    `${file} cannot be read (${why}); move it away and install the plugins again.`,
    { cause, details: { file } },
  );
}
