/** Whether a plugin was written for this host: what its package.json asks for, told before anything of it runs. */
import { createRequire } from "node:module";
import type * as semver from "semver";
import { PagurusError } from "../contract/errors.ts";
import type { PluginManifest } from "./manifest.ts";

const require = createRequire(import.meta.url);

/** One sentence for each range that does not fit or cannot be read; those of `pagurus` are refusals. */
export function unmetNeeds({ id, needs }: PluginManifest): { problems: string[]; warnings: string[] } {
  const found: { problems: string[]; warnings: string[] } = { problems: [], warnings: [] };
  if (needs.pagurus !== undefined) {
    const { version } = require("../../package.json") as { version: string };
    const said = verdict(id, "Pagurus", needs.pagurus, version);
    if (said?.unmet === true) found.problems.push(said.text);
    else if (said) found.warnings.push(said.text);
  }
  if (needs.node !== undefined) {
    // As npm has it: a plugin that was not tried with this Node.js may well work with it.
    const said = verdict(id, "Node.js", needs.node, process.versions.node);
    if (said) found.warnings.push(said.text);
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
      text: `The plugin ${id} asks for ${what} ${shown}, which is no range of versions.`,
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
