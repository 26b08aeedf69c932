import type { RuntimeFact } from "@pagurus/contract/harness/runtimes";
import { formatKeyPath } from "@pagurus/core/config/key-path";
import { namedRuntimes } from "@pagurus/importers/old-keys/findings";
import type { Finding } from "./finding.ts";

/** The agent runtimes, as the host knows them. */
export interface RuntimesSeen {
  /** With their programs. */
  facts: readonly RuntimeFact[];
  /** The configuration in use. */
  config: unknown;
  /** Why the model of a run is not in its intended runtime. */
  why?: string | undefined;
}

/** Programs, versions and logins of the runtimes that have a program, and why a model runs in an unexpected one. */
export function checkRuntimes(seen: RuntimesSeen | undefined): Finding[] {
  if (!seen) return [];
  const programs = seen.facts.flatMap(({ id, program }): Finding[] => {
    if (!program) return [];
    if ("problem" in program) {
      // A run that needs it is refused with an error.
      return [{ level: "info", check: "runtimes", detail: `${id} cannot be used: ${program.problem}` }];
    }
    const { program: path, version, login, drift } = program;
    const detail = `${id}: version ${version} (${path}), ${login}.`;
    if (drift === undefined) return [{ level: "ok", check: "runtimes", detail }];
    return [{ level: "warn", check: "runtimes", detail, fix: drift }];
  });
  programs.push(...unknownNames(seen));
  if (seen.why === undefined) return programs;
  const detail = `The model of a run is executed by embedded: ${seen.why}`;
  const fix = "pagurus runtimes explain has the details.";
  return [...programs, { level: "info", check: "runtimes", detail, fix }];
}

/**
 * Unregistered names in policies of other models and agents than the next run's, which would otherwise show only when a run is
 * refused.
 */
function unknownNames({ facts, config }: RuntimesSeen): Finding[] {
  const known = new Set(facts.flatMap(({ id, aliases }) => [id, ...aliases]));
  return namedRuntimes(config)
    .filter(({ id }) => !known.has(id) && !known.has(id.trim().toLowerCase()))
    .map(({ path, id }) => ({
      level: "warn",
      check: "runtimes",
      detail: `${formatKeyPath(path)} is ${JSON.stringify(id)}, which is not registered, so runs with it are refused (there are: ${[...known].join(", ")}).`,
      fix: "Name one of these, or add the plugin that has it.",
    }));
}
