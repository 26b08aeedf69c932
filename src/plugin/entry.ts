/** Finds the module and the id of a plugin from its file or folder. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { PagurusError } from "../contract/errors.ts";

export interface PluginEntry {
  id: string;
  /** Absolute path of the module. */
  module: string;
  /** Folder of the plugin. */
  folder: string;
}

const MANIFESTS = ["pagurus.plugin.json", "openclaw.plugin.json"];
const INDEX_FILES = ["index.js", "index.mjs", "index.ts"];
const EXTENSIONS = new Set([".js", ".mjs", ".ts", ".mts", ".cjs"]);

/** Throws `config_invalid`. `path` is absolute. */
export function findPluginEntry(path: string): PluginEntry {
  const kind = statSync(path, { throwIfNoEntry: false });
  if (!kind) throw problem(path, "does not exist");
  if (kind.isFile()) {
    const extension = extname(path);
    if (!EXTENSIONS.has(extension))
      throw problem(path, "is neither a folder nor a JavaScript or TypeScript file");
    return { id: basename(path, extension), module: path, folder: dirname(path) };
  }
  const manifest = MANIFESTS.map((name) => readJson(join(path, name))).find((found) => found !== undefined);
  const pkg = readJson(join(path, "package.json")) ?? {};
  const id = textOf(manifest?.["id"]) ?? textOf(pkg["name"]) ?? basename(path);
  const candidates = [...namedModules(pkg), ...INDEX_FILES].map((name) => join(path, name));
  const module = candidates.find((file) => statSync(file, { throwIfNoEntry: false })?.isFile());
  if (module === undefined)
    throw problem(path, `has no module (looked for ${candidates.map((file) => basename(file)).join(", ")})`);
  return { id, module, folder: path };
}

/** The id to report for a path whose entry cannot be found. */
export function fallbackPluginId(path: string): string {
  return basename(path, extname(path));
}

/** What a package names as its plugin module, best first: OpenClaw's key, then the package's own entry. */
function namedModules(pkg: Record<string, unknown>): string[] {
  const openclaw = recordOf(pkg["openclaw"]);
  const extensions = [...listOf(openclaw["runtimeExtensions"]), ...listOf(openclaw["extensions"])];
  return [...extensions, exportTarget(pkg["exports"]), textOf(pkg["main"])].filter(
    (name) => typeof name === "string",
  );
}

/** The target of `.` in an exports map, by the conditions that a plain import takes. */
function exportTarget(exports: unknown): string | undefined {
  if (typeof exports === "string") return exports;
  const map = recordOf(exports);
  const root = Object.hasOwn(map, ".") ? map["."] : map;
  if (typeof root === "string") return root;
  const conditions = recordOf(root);
  for (const condition of ["node", "import", "default"]) {
    const target = conditions[condition];
    if (target !== undefined) return exportTarget(target);
  }
  return undefined;
}

function readJson(file: string): Record<string, unknown> | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return recordOf(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    throw problem(file, "is not valid JSON", error);
  }
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function problem(path: string, what: string, cause?: unknown): PagurusError {
  return new PagurusError("config_invalid", `${path} ${what}; correct plugins.load.paths or the plugin.`, {
    cause,
    details: { path },
  });
}
