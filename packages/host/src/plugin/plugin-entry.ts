/** Finds the module and the id of a plugin from its file or folder. */
import { statSync } from "node:fs";
import { basename, dirname, extname } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { readPluginManifest, type PluginManifest } from "./manifest.ts";
import { fileInside } from "./safe-path.ts";

export interface PluginEntry {
  id: string;
  /** Absolute path of the module. */
  module: string;
  /** Folder of the plugin. */
  folder: string;
  /** Absent for a single file. */
  manifest?: PluginManifest;
}

const INDEX_FILES = ["index.js", "index.mjs", "index.ts"];
const EXTENSIONS = new Set([".js", ".mjs", ".ts", ".mts", ".cjs"]);

/** Throws `config_invalid` for a path without a plugin, `plugin_invalid`. `path` is absolute. */
export function findPluginEntry(path: string): PluginEntry {
  const kind = statSync(path, { throwIfNoEntry: false });
  if (!kind) throw problem(path, "does not exist");
  if (kind.isFile()) {
    const extension = extname(path);
    if (!EXTENSIONS.has(extension))
      throw problem(path, "is neither a folder nor a JavaScript or TypeScript file");
    return { id: basename(path, extension), module: path, folder: dirname(path) };
  }
  const manifest = readPluginManifest(path);
  const candidates = [...manifest.modules, ...INDEX_FILES];
  for (const name of candidates) {
    const module = fileInside(path, name);
    if (module !== undefined) return { id: manifest.id, module, folder: path, manifest };
  }
  throw problem(
    path,
    `has no module (looked for ${[...new Set(candidates.map(shownName))].join(", ").slice(0, 200)})`,
  );
}

/** Written by the plugin's author: forced onto one line. */
function shownName(file: string): string {
  return basename(file).replaceAll(/[^\w.@+ -]/g, "?");
}

/** The id to report for a path whose entry cannot be found. */
export function fallbackPluginId(path: string): string {
  return basename(path, extname(path));
}

function problem(path: string, what: string): PagurusError {
  return new PagurusError(
    "config_invalid",
    `${path} ${what}; correct the path (plugins.load.paths names installed links), or the plugin.`,
    {
      details: { path },
    },
  );
}
