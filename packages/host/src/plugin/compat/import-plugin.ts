/** Imports a plugin's module: with Node if possible, with jiti where TypeScript needs more than type stripping. */
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { PagurusError } from "@pagurus/contract/errors";
import { ensurePrivateDir } from "@pagurus/core/platform/atomic-files";
import {
  isLent,
  isOpenClawSdk,
  noteOpenClawImport,
  offerOpenClawImports,
  OPENCLAW_SPECIFIERS,
} from "./imports.ts";

const TYPESCRIPT = /\.[cm]?ts$/;

/** Node's error codes, before any code of a module has run, for TypeScript that it cannot run directly. */
const NEEDS_TRANSFORM = new Set([
  "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
  "ERR_INVALID_TYPESCRIPT_SYNTAX",
  "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING",
  "ERR_UNKNOWN_FILE_EXTENSION",
  // In TypeScript sources `./other.js` means `./other.ts`.
  "ERR_MODULE_NOT_FOUND",
  "ERR_UNSUPPORTED_DIR_IMPORT",
]);

/**
 * `The requested module 'x' does not provide an export named 'Y'`: TypeScript imports a type as if it were a value, or Node
 * does not detect the names of a CommonJS module. Also thrown before any code runs.
 */
const MISSING_EXPORT =
  /module '(?<module>[^']+)' does not provide an export named '(?<name>[^']+)'|Named export '[^']+' not found\. The requested module '(?<commonjs>[^']+)'/;

/**
 * The module's namespace. `file` is absolute; `cacheDir` caches transformed code and is created when needed. Throws the
 * module's error, `plugin_failed`.
 */
export async function importPlugin(file: string, cacheDir: string): Promise<unknown> {
  offerOpenClawImports(pathToFileURL(realpathSync(dirname(file))).href);
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

/** A missing name in the plugin's own files is a defect of the plugin. */
function isPackage(specifier: string): boolean {
  return !/^(?:\.|\/|\w+:)/.test(specifier);
}

async function importThroughJiti(file: string, cacheDir: string): Promise<unknown> {
  ensurePrivateDir(cacheDir);
  const [{ createJiti }, { kitFor }] = await Promise.all([import("jiti"), import("./missing-members.ts")]);
  const url = pathToFileURL(file).href;
  const virtualModules = virtualModulesFor(file, (specifier) => {
    if (!isOpenClawSdk(specifier)) return undefined;
    noteOpenClawImport(url);
    return kitFor(specifier);
  });
  const jiti = createJiti(url, { fsCache: cacheDir, interopDefault: true, virtualModules });
  return await jiti.import(file);
}

const require = createRequire(import.meta.url);

/**
 * Modules for jiti, looked up with `in` and by name: the kit under every subpath, and packages lent to a plugin that lacks
 * them.
 */
function virtualModulesFor(file: string, kit: (specifier: string) => unknown): Record<string, unknown> {
  const lent = (specifier: string): boolean => isLent(specifier) && !resolves(file, specifier);
  return new Proxy<Record<string, unknown>>(
    {},
    {
      has: (_, key) => typeof key === "string" && (isOpenClawSdk(key) || lent(key)),
      get: (_, key) => {
        if (typeof key !== "string") return undefined;
        return kit(key) ?? (lent(key) ? (require(key) as unknown) : undefined);
      },
    },
  );
}

function resolves(from: string, specifier: string): boolean {
  try {
    return createRequire(from).resolve(specifier) !== "";
  } catch {
    // It is not among the plugin's own packages.
    return false;
  }
}

function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}
