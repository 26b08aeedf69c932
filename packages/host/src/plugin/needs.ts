/** Checks whether a plugin was written for this host, by its package.json, before any of its code runs. */
import { createRequire } from "node:module";
import type * as semver from "semver";
import { PagurusError } from "@pagurus/contract/errors";
import { packageVersion } from "@pagurus/core/platform/package-version";
import type { PluginManifest } from "./manifest.ts";

const require = createRequire(import.meta.url);

/** One sentence for each range that does not fit or cannot be parsed; those of `pagurus` are refusals. */
export function unmetNeeds({ id, needs }: PluginManifest): { problems: string[]; warnings: string[] } {
  const found: { problems: string[]; warnings: string[] } = { problems: [], warnings: [] };
  if (needs.pagurus !== undefined) {
    const result = verdict(id, "Pagurus", needs.pagurus, packageVersion());
    if (result?.unmet === true) found.problems.push(result.text);
    else if (result) found.warnings.push(result.text);
  }
  if (needs.node !== undefined) {
    // A warning as in npm: a plugin that was not tested with this Node.js may still work.
    const result = verdict(id, "Node.js", needs.node, process.versions.node);
    if (result) found.warnings.push(result.text);
  }
  return found;
}

function verdict(
  id: string,
  what: string,
  range: string,
  version: string,
): { text: string; unmet: boolean } | undefined {
  const { satisfies, validRange } = require("semver") as typeof semver;
  const shown = JSON.stringify(range.slice(0, 80));
  if (validRange(range) === null)
    return {
      text: `The plugin ${id} requires ${what} ${shown}, which is not a version range.`,
      unmet: false,
    };
  if (satisfies(version, range, { includePrerelease: true })) return undefined;
  return { text: `The plugin ${id} was written for ${what} ${shown}, and this is ${version}.`, unmet: true };
}

/** Throws `engine_contract` for a plugin of another version of the host. */
export function assertNeedsMet(manifest: PluginManifest | undefined): void {
  const [problem] = manifest ? unmetNeeds(manifest).problems : [];
  if (problem === undefined) return;
  throw new PagurusError(
    "engine_contract",
    `${problem.replace(/\.$/, "")}; install a version made for this one.`,
    { details: { plugin: manifest?.id } },
  );
}
