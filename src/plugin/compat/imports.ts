/**
 * Where `openclaw/plugin-sdk/*` leads: every import, `import()` and `require()` of such a name in this process gets
 * `sdk.ts`, also where a real `openclaw` lies beside the plugin, whose helpers would not know this host. This is the
 * only place that reaches into Node's module resolution.
 */
import { registerHooks } from "node:module";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { PagurusError } from "../../contract/errors.ts";

const ROOT = "openclaw/plugin-sdk";

/** Subpaths that engines import, as far as they are known; all of them are one module here. */
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
  "session-transcript-runtime",
];

/** Every specifier that leads to `sdk.ts`. */
export const OPENCLAW_SPECIFIERS: readonly string[] = [
  ROOT,
  ...SUBPATHS.flatMap((name) => [`${ROOT}/${name}`, `${ROOT}/${name}.js`]),
];

// The source runs as TypeScript, the package as JavaScript.
const SDK = new URL(`./sdk${extname(fileURLToPath(import.meta.url))}`, import.meta.url).href;

/** URLs of modules that have imported an OpenClaw name. */
const importers = new Set<string>();
let offered = false;

/** From now on the names above resolve; the second call does nothing. */
export function offerOpenClawImports(): void {
  if (offered) return;
  offered = true;
  registerHooks({
    resolve: (specifier, context, next) => {
      if (!isOpenClaw(specifier)) return next(specifier, context);
      if (context.parentURL !== undefined) noteOpenClawImport(context.parentURL);
      if (OPENCLAW_SPECIFIERS.includes(specifier)) return { url: SDK, shortCircuit: true };
      // What else there is of OpenClaw can only be its package, where it lies beside the plugin.
      if (specifier !== ROOT && !specifier.startsWith(`${ROOT}/`)) {
        try {
          return next(specifier, context);
        } catch {
          // Told below, with what there is here.
        }
      }
      throw new PagurusError(
        "plugin_failed",
        `The plugin imports ${specifier}, which this host does not have (it has ${[ROOT, ...SUBPATHS.map((name) => `/${name}`)].join(", ")}); use a version of the plugin that does without it, or run it in OpenClaw.`,
        { details: { specifier } },
      );
    },
  });
}

function isOpenClaw(specifier: string): boolean {
  return specifier === "openclaw" || specifier.startsWith("openclaw/");
}

/** Remembers that a module has imported an OpenClaw name by another way than Node's. */
export function noteOpenClawImport(url: string): void {
  importers.add(url);
}

/** Whether a module under a folder (or the file itself) has imported an OpenClaw name so far. */
export function importsOpenClaw(fileOrFolder: URL): boolean {
  const { href } = fileOrFolder;
  const folder = href.endsWith("/") ? href : `${href}/`;
  return [...importers].some((url) => url === href || url.startsWith(folder));
}
