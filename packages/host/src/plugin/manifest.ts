/**
 * Reads a plugin's description without running it: `pagurus.plugin.json` or `openclaw.plugin.json`, and fields of its
 * package.json. Untrusted input: everything is checked.
 */
import { defined } from "@pagurus/core/data/defined";
import { lstatSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type * as zod from "zod";
import { addIssues } from "@pagurus/core/config/config-problems";
import { schemaLibrary, type Zod } from "@pagurus/core/config/load-schema-library";
import { PagurusError } from "@pagurus/contract/errors";
import { fileInside } from "./safe-path.ts";
import { filledString, isRecord, listOf, recordOf } from "@pagurus/core/data/record-fields";

/** JSON Schema as written. */
type JsonSchema = Record<string, unknown> | boolean;

/** Version ranges, in npm's syntax. */
export interface PluginNeeds {
  /** `peerDependencies.pagurus`, else `engines.pagurus`. */
  pagurus?: string;
  /** `engines.node`. */
  node?: string;
}

export interface PluginManifest {
  id: string;
  name?: string;
  version?: string;
  description?: string;
  /** As declared: `context-engine`, `memory`, `harness`, or kinds of other hosts. */
  kinds: readonly string[];
  /** JSON Schema of `plugins.entries.<id>.config`. */
  configSchema?: JsonSchema;
  /** Whether it declares itself a plugin, rather than being assumed to be one. */
  declared: boolean;
  /** Candidate modules, best first. */
  modules: readonly string[];
  /** Version ranges of its package.json. */
  needs: PluginNeeds;
  /** Aliases of its commands (`commandAliases`), by the command's name. */
  commandAliases: Readonly<Record<string, readonly string[]>>;
  /** One sentence each; they never refuse a plugin. */
  warnings: readonly string[];
}

type Fields = Record<string, unknown>;

/** A name, with or without the scope of a package. */
const PLUGIN_ID = /^(?:@[A-Za-z0-9][\w.-]{0,63}\/)?[A-Za-z0-9][\w.-]{0,127}$/;
const FILES = ["pagurus.plugin.json", "openclaw.plugin.json"];
/** Equivalent keys of package.json, ours first. */
const PACKAGE_KEYS = ["pagurus", "openclaw"];
/** Maximum size of a manifest. */
const MAX_BYTES = 1_000_000;
const KINDS = new Set(["context-engine", "memory", "harness"]);
/** Manifest keys for other hosts, their settings pages and shops; unused here and not a mistake. */
const FOREIGN_KEYS = new Set(
  "$schema activation author backupResources categories channels cliCommands commandAliases config configGroups contracts doctorContract enabledByDefault homepage keywords legacyPluginIds license mcpServers providers repository setup skills slots uiHints".split(
    " ",
  ),
);

/** Whether a text can be a plugin's id. Excludes names that every object inherits, since any table would contain them. */
export function isPluginId(id: string): boolean {
  return PLUGIN_ID.test(id) && !(id in {});
}

/** Reads the manifest of a folder; without one, package.json and the folder's name are used. Throws `plugin_invalid`. */
export function readPluginManifest(folder: string): PluginManifest {
  const pkg = readManifestFile(folder, "package.json") ?? {};
  const named = FILES.find((name) => lstatSync(join(folder, name), { throwIfNoEntry: false }));
  const key = PACKAGE_KEYS.find((name) => Object.hasOwn(recordOf(pkg[name]), "id"));
  const source = named ?? (key === undefined ? undefined : `package.json (${key})`);
  const fields = (named === undefined ? recordOf(pkg[key ?? ""]) : readManifestFile(folder, named)) ?? {};
  const warnings: string[] = [];
  const checked = source === undefined ? {} : checkFields(join(folder, source), fields, warnings);
  if (named !== undefined) warnUnknown(named, fields, warnings);
  const kinds = [checked.kind ?? []].flat();
  for (const kind of kinds)
    if (!KINDS.has(kind)) warnings.push(`The kind ${JSON.stringify(kind)} is not known here.`);
  const { name, version, description, configSchema } = checked;
  return {
    id: checked.id ?? packageId(pkg) ?? basename(folder),
    kinds,
    declared: source !== undefined || PACKAGE_KEYS.some((name) => Object.hasOwn(pkg, name)),
    modules: namedModules(pkg, checked.entry),
    needs: needsOf(pkg),
    commandAliases: aliasesOf(fields["commandAliases"]),
    warnings,
    ...defined({ name }),
    ...valueOf("version", version ?? filledString(pkg["version"])),
    ...valueOf("description", description ?? filledString(pkg["description"])),
    ...defined({ configSchema }),
  };
}

function needsOf(pkg: Fields): PluginNeeds {
  const engines = recordOf(pkg["engines"]);
  const pagurus =
    filledString(recordOf(pkg["peerDependencies"])["pagurus"]) ?? filledString(engines["pagurus"]);
  return { ...valueOf("pagurus", pagurus), ...valueOf("node", filledString(engines["node"])) };
}

/**
 * Parses `{alias: command}`, `{command: [alias]}` or a list of `{name, command}`. OpenClaw aliases of its command line
 * (`cliCommand`) have no counterpart here.
 */
function aliasesOf(given: unknown): Record<string, string[]> {
  const pairs: [command: string, alias: string][] = [];
  for (const [key, value] of Object.entries(recordOf(given))) {
    if (typeof value === "string") pairs.push([value, key]);
    else for (const alias of listOf(value)) if (typeof alias === "string") pairs.push([key, alias]);
  }
  for (const each of listOf(given)) {
    const { name, alias, command } = recordOf(each);
    const further = filledString(alias) ?? filledString(name);
    if (further !== undefined && typeof command === "string") pairs.push([command, further]);
  }
  const grouped = Map.groupBy(pairs, ([command]) => command.replace(/^\//, ""));
  return Object.fromEntries([...grouped].map(([command, all]) => [command, all.map(([, alias]) => alias)]));
}

function packageId(pkg: Fields): string | undefined {
  const name = filledString(pkg["name"]);
  return name !== undefined && isPluginId(name) ? name : undefined;
}

function valueOf<K extends string>(key: K, value: string | undefined): { [P in K]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: string });
}

function manifestSchema(z: Zod) {
  const text = z.string().min(1).max(2_000).optional();
  return z.object({
    id: z.string().optional(),
    name: text,
    version: text,
    description: text,
    kind: z.union([z.string().min(1), z.array(z.string().min(1))]).optional(),
    configSchema: z.union([z.boolean(), z.record(z.string(), z.unknown())]).optional(),
    entry: text,
  });
}

type Checked = zod.infer<ReturnType<typeof manifestSchema>>;

/** The valid fields. An invalid one is dropped with a warning; an invalid id refuses the plugin. */
function checkFields(file: string, fields: Fields, warnings: string[]): Checked {
  const schema = manifestSchema(schemaLibrary());
  const own = Object.fromEntries(Object.entries(fields).filter(([key]) => key in schema.shape));
  const first = schema.safeParse(own, { reportInput: false });
  const wrong = new Set(first.error?.issues.map((issue) => String(issue.path[0])));
  const problems = addIssues(own, first.error?.issues ?? [], []).problems;
  if (wrong.has("id"))
    throw invalid(file, problems.find((problem) => problem.startsWith("id")) ?? "id must be a string");
  for (const problem of problems) warnings.push(problem.replace(/\.$/, "; it is not used."));
  const right = Object.fromEntries(Object.entries(own).filter(([key]) => !wrong.has(key)));
  const checked = schema.parse(right);
  const { id } = checked;
  if (id === undefined || isPluginId(id)) return checked;
  const shown = JSON.stringify(id.slice(0, 80));
  throw invalid(
    file,
    `id must be letters, digits, "-", "_" and ".", with or without a scope, but is ${shown}`,
  );
}

function warnUnknown(file: string, fields: Fields, warnings: string[]): void {
  const known = new Set(["id", "name", "version", "description", "kind", "configSchema", "entry"]);
  for (const key of Object.keys(fields)) {
    if (known.has(key) || FOREIGN_KEYS.has(key)) continue;
    warnings.push(`${JSON.stringify(key.slice(0, 80))} of ${file} is not a known key; it is not used.`);
  }
}

/** Plugin modules that a package names, best first: the hosts' keys, the manifest, the package's own entry. */
function namedModules(pkg: Fields, entry: string | undefined): string[] {
  const lists = PACKAGE_KEYS.map((key) => recordOf(pkg[key])).flatMap((host) => [
    ...listOf(host["runtimeExtensions"]),
    ...listOf(host["extensions"]),
  ]);
  return [...lists, entry, exportTarget(pkg["exports"], 0), filledString(pkg["main"])].filter(
    (name) => typeof name === "string",
  );
}

/** Maximum nesting of conditions, since a hostile package may nest them endlessly. */
const MAX_CONDITIONS = 10;

/** The target of `.` in an exports map, by the conditions of a plain import. */
function exportTarget(exports: unknown, depth: number): string | undefined {
  if (typeof exports === "string") return exports;
  if (depth > MAX_CONDITIONS) return undefined;
  const map = recordOf(exports);
  const root = Object.hasOwn(map, ".") ? map["."] : map;
  if (typeof root === "string") return root;
  const conditions = recordOf(root);
  for (const condition of ["node", "import", "default"]) {
    const target = Object.hasOwn(conditions, condition) ? conditions[condition] : undefined;
    if (target !== undefined) return exportTarget(target, depth + 1);
  }
  return undefined;
}

/** An object from a file of the folder; undefined if there is none. Throws `plugin_invalid`. */
function readManifestFile(folder: string, name: string): Fields | undefined {
  const file = join(folder, name);
  if (!lstatSync(file, { throwIfNoEntry: false })) return undefined;
  if (fileInside(folder, name) === undefined) throw invalid(file, "it must be a file");
  const text = readText(file);
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new PagurusError("plugin_invalid", `${file} is not valid JSON; correct the plugin.`, {
      cause: error,
      details: { file },
    });
  }
  if (isRecord(value)) return value;
  throw invalid(file, "it must hold an object");
}

function readText(file: string): string {
  try {
    if (statSync(file).size <= MAX_BYTES) return readFileSync(file, "utf8");
  } catch (error) {
    throw invalid(file, `it cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown error"})`);
  }
  throw invalid(file, `it is larger than ${MAX_BYTES} bytes`);
}

function invalid(file: string, what: string): PagurusError {
  return new PagurusError(
    "plugin_invalid",
    `${file} cannot be used: ${what.replace(/\.$/, "")}; correct the plugin.`,
    {
      details: { file },
    },
  );
}
