/** Imports a plugin's module: by Node where Node can, through jiti where TypeScript needs more than its types stripped. */
import { pathToFileURL } from "node:url";
import { PagurusError } from "../../contract/errors.ts";
import { ensurePrivateDir } from "../../platform/files.ts";
import { noteOpenClawImport, offerOpenClawImports, OPENCLAW_SPECIFIERS } from "./imports.ts";

const TYPESCRIPT = /\.[cm]?ts$/;

/** What Node answers, before anything of a module has run, to TypeScript that it cannot run as it is. */
const NEEDS_TRANSFORM = new Set([
  "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
  "ERR_INVALID_TYPESCRIPT_SYNTAX",
  "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING",
  "ERR_UNKNOWN_FILE_EXTENSION",
  // `./other.js` stands for `./other.ts` in TypeScript sources.
  "ERR_MODULE_NOT_FOUND",
  "ERR_UNSUPPORTED_DIR_IMPORT",
]);

/**
 * `The requested module 'x' does not provide an export named 'Y'`: TypeScript imports a type as if it were a value, or
 * a CommonJS module keeps its names where Node does not see them. Said before anything runs, too.
 */
const MISSING_EXPORT =
  /module '(?<module>[^']+)' does not provide an export named '(?<name>[^']+)'|Named export '[^']+' not found\. The requested module '(?<commonjs>[^']+)'/;

/**
 * The module's namespace. `file` is absolute; `cacheDir` keeps what was transformed, made where it is needed. Throws
 * what the module throws, `plugin_failed`.
 */
export async function importPlugin(file: string, cacheDir: string): Promise<unknown> {
  offerOpenClawImports();
  try {
    return await import(pathToFileURL(file).href);
  } catch (error) {
    const typescript = TYPESCRIPT.test(file);
    if (typescript && NEEDS_TRANSFORM.has(codeOf(error))) return await importThroughJiti(file, cacheDir);
    const found = error instanceof SyntaxError ? MISSING_EXPORT.exec(error.message)?.groups : undefined;
    if (!found) throw error;
    const { module = "", name, commonjs = "" } = found;
    const openClaw = OPENCLAW_SPECIFIERS.includes(module);
    if (typescript || (!openClaw && isPackage(commonjs || module)))
      return await importThroughJiti(file, cacheDir);
    if (!openClaw) throw error;
    throw new PagurusError(
      "plugin_failed",
      `The plugin imports ${name} of ${module}, which this host does not have; use a version of the plugin that does without it, or run it in OpenClaw.`,
      { cause: error, details: { module, name } },
    );
  }
}

/** A missing name of the plugin's own files is a mistake in it. */
function isPackage(specifier: string): boolean {
  return !/^(?:\.|\/|\w+:)/.test(specifier);
}

async function importThroughJiti(file: string, cacheDir: string): Promise<unknown> {
  ensurePrivateDir(cacheDir);
  const [{ createJiti }, sdk] = await Promise.all([import("jiti"), import("./sdk.ts")]);
  const url = pathToFileURL(file).href;
  const virtualModules = {};
  for (const specifier of OPENCLAW_SPECIFIERS) {
    const get = (): typeof sdk => {
      noteOpenClawImport(url);
      return sdk;
    };
    Object.defineProperty(virtualModules, specifier, { enumerable: true, get });
  }
  const jiti = createJiti(url, { fsCache: cacheDir, interopDefault: true, virtualModules });
  return await jiti.import(file);
}

function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}
