/**
 * Stubs for names of `openclaw/plugin-sdk` that this host lacks, so that a plugin that only imports them loads: each throws
 * with its own name when called. A plugin is refused only for what it really uses.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { PagurusError } from "@pagurus/contract/errors";

/**
 * Stub for a missing name of a module; imported by the modules that `imports.ts` generates. Throws `plugin_failed` when called
 * or constructed.
 * @public
 */
export function missingName(specifier: string, name: string): (...given: unknown[]) => never {
  const missing = function missing(): never {
    throw new PagurusError(
      "plugin_failed",
      `The plugin calls ${name} of ${specifier}, which this host does not have; use a version of the plugin that does without, or run it in OpenClaw.`,
      { details: { module: specifier, name } },
    );
  };
  return Object.defineProperty(missing, "name", { value: name });
}

const IMPORTS = /\b(?:import|export)\s*(?:[\w$]+\s*,\s*)?\{([^{}]*)\}\s*from\s*["']([^"']+)["']/g;
const NAME = /^[A-Za-z_$][\w$]*$/;

/** Names that a module's source imports from a specifier; none if it cannot be read. */
export function namesImported(parentUrl: string, specifier: string): string[] {
  const source = sourceOf(parentUrl);
  const lists = [...source.matchAll(IMPORTS)].flatMap(([, names = "", from]) =>
    from === specifier ? names.split(",") : [],
  );
  const names = lists.map(
    (part) =>
      part
        .trim()
        .replace(/^type\s+/, "")
        .split(/\s+as\s+/)[0] ?? "",
  );
  return [...new Set(names)].filter((name) => NAME.test(name) && name !== "default");
}

/** Whether a module's source imports a specifier by a statement, in any form. */
export function importsByStatement(parentUrl: string, specifier: string): boolean {
  const quoted = specifier.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  return new RegExp(`\\b(?:import|export)\\s*(?:[\\w$*{][^;"'()]*?\\bfrom\\s*)?["']${quoted}["']`).test(
    sourceOf(parentUrl),
  );
}

function sourceOf(url: string): string {
  try {
    return url.startsWith("file:") ? readFileSync(fileURLToPath(url.replace(/[?#].*$/, "")), "utf8") : "";
  } catch {
    // Without the source only existing names can be imported.
    return "";
  }
}
