/**
 * Resolves `openclaw/plugin-sdk/*`: every import, `import()` and `require()` of such a name in this process gets `sdk.ts`, even
 * where a real `openclaw` is installed beside the plugin, whose helpers would not know this host. Names imported from it that
 * `sdk.ts` lacks are functions that throw when called (`sdk-stubs.ts`); so are members that `require()` lacks (`missing-members.ts`). An unknown subpath resolves for a module that imports
 * names of it, and fails for `import()`. The libraries that OpenClaw's own folder lends its plugins (`LENT`) are this
 * package's. The only file that hooks into Node's module resolution.
 */
import { registerHooks } from "node:module";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { PagurusError } from "@pagurus/contract/errors";
import { importsByStatement, namesImported } from "./sdk-stubs.ts";

const ROOT = "openclaw/plugin-sdk";

/** Known subpaths that plugins import; all are one module here. */
const SUBPATHS = [
  "core",
  "plugin-entry",
  "plugin-runtime",
  "compat",
  "context-engine",
  "context-engine/types",
  "agent-core",
  "agent-harness-runtime",
  "agent-scope-runtime",
  "memory-host-core",
  "logging-core",
  "param-readers",
  "session-transcript-runtime",
];

/** Every specifier that resolves to `sdk.ts` for any importer. */
export const OPENCLAW_SPECIFIERS: readonly string[] = [
  ROOT,
  ...SUBPATHS.flatMap((name) => [`${ROOT}/${name}`, `${ROOT}/${name}.js`]),
];

/** Packages that an OpenClaw plugin may import without naming them as dependencies, if this package has them. */
const LENT = ["zod", "commander"];

// The source runs as TypeScript, the package as JavaScript.
const EXTENSION = extname(fileURLToPath(import.meta.url));
const SDK = new URL(`./sdk${EXTENSION}`, import.meta.url).href;
/** For `require()`, which reads members of the module. */
const REQUIRED = new URL(`./sdk-required${EXTENSION}`, import.meta.url).href;
const STUBS = new URL(`./sdk-stubs${EXTENSION}`, import.meta.url).href;
/** URL scheme of a generated module with the names that a plugin imports. */
const MADE = "pagurus-openclaw-sdk:";

/** URLs of modules that have imported an OpenClaw name. */
const importers = new Set<string>();
/** Folders of plugins. */
const pluginRoots = new Set<string>();
let offered = false;

/** Makes the names above resolve; idempotent. `root`: a plugin's folder or file, as a URL. */
export function offerOpenClawImports(root: string): void {
  pluginRoots.add(root);
  if (offered) return;
  offered = true;
  registerHooks({
    resolve: (specifier, context, next) => {
      const { parentURL = "" } = context;
      if (specifier.startsWith(MADE)) return { url: specifier, shortCircuit: true };
      const isRequired = context.conditions?.includes("require") === true;
      const url = isOpenClaw(specifier) ? sdkFor(specifier, parentURL, isRequired) : undefined;
      if (isOpenClaw(specifier)) noteOpenClawImport(parentURL);
      if (url !== undefined) return { url, shortCircuit: true };
      const lent = isLent(specifier) && isOfPlugin(parentURL);
      if (!isOpenClaw(specifier) && !lent) return next(specifier, context);
      // Any other OpenClaw specifier can only be its package, if installed beside the plugin.
      if (isOpenClawSdk(specifier)) throw notHere(specifier, undefined);
      try {
        return next(specifier, context);
      } catch (error) {
        if (lent) return next(specifier, { ...context, parentURL: import.meta.url });
        throw notHere(specifier, error);
      }
    },
    load: (url, context, next) =>
      url.startsWith(MADE)
        ? { format: "module", source: sourceOf(url), shortCircuit: true }
        : next(url, context),
  });
}

function notHere(specifier: string, cause: unknown): PagurusError {
  return new PagurusError(
    "plugin_failed",
    `The plugin imports ${specifier}, which this host does not have (it has ${[ROOT, ...SUBPATHS.map((name) => `/${name}`)].join(", ")}); use a version of the plugin that does without it, or run it in OpenClaw.`,
    { cause, details: { specifier } },
  );
}

/** The kit itself, or with stubs for imported names that the kit may lack. */
function sdkFor(specifier: string, parentURL: string, isRequired: boolean): string | undefined {
  if (!isOpenClawSdk(specifier)) return undefined;
  if (isRequired) return REQUIRED;
  const names = namesImported(parentURL, specifier);
  if (names.length === 0) {
    const there = OPENCLAW_SPECIFIERS.includes(specifier) || importsByStatement(parentURL, specifier);
    return there ? SDK : undefined;
  }
  return `${MADE}${encodeURIComponent(JSON.stringify([specifier, names]))}`;
}

function sourceOf(url: string): string {
  const [specifier, names] = JSON.parse(decodeURIComponent(url.slice(MADE.length))) as [string, string[]];
  const own = names.map((name, index) => {
    const value = `sdk[${JSON.stringify(name)}] ?? missingName(${JSON.stringify(specifier)}, ${JSON.stringify(name)})`;
    return `const n${index} = ${value}; export { n${index} as ${name} };`;
  });
  return [
    `import * as sdk from ${JSON.stringify(SDK)};`,
    `import { missingName } from ${JSON.stringify(STUBS)};`,
    `export * from ${JSON.stringify(SDK)};`,
    "export default sdk;",
    ...own,
  ].join("\n");
}

/** A specifier of the kit, known or not. */
export function isOpenClawSdk(specifier: string): boolean {
  return specifier === ROOT || specifier.startsWith(`${ROOT}/`);
}

function isOpenClaw(specifier: string): boolean {
  return specifier === "openclaw" || specifier.startsWith("openclaw/");
}

/** Whether a specifier is of a package lent to plugins without it. */
export function isLent(specifier: string): boolean {
  return LENT.includes(specifier.split("/", 1)[0] ?? "");
}

function isOfPlugin(url: string): boolean {
  return [...pluginRoots].some(
    (root) => url === root || url.startsWith(root.endsWith("/") ? root : `${root}/`),
  );
}

/** Records that a module has imported an OpenClaw name without Node's resolution. */
export function noteOpenClawImport(url: string): void {
  if (url !== "") importers.add(url);
}

/** Whether a module under a folder (or the file itself) has imported an OpenClaw name so far. */
export function importsOpenClaw(fileOrFolder: URL): boolean {
  const { href } = fileOrFolder;
  const folder = href.endsWith("/") ? href : `${href}/`;
  return [...importers].some((url) => url === href || url.startsWith(folder));
}
