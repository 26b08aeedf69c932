import type { RuntimeFact } from "../contract/runtimes.ts";
import { formatKeyPath } from "../config/key-path.ts";
import { namedRuntimes } from "../config/legacy/findings.ts";
import type { Finding } from "./finding.ts";

/** The agent runtimes, as the host knows them. */
export interface RuntimesSeen {
  /** With their programs. */
  facts: readonly RuntimeFact[];
  /** The configuration in use. */
  config: unknown;
  /** Why the model of a run is not in the runtime that it is meant for. */
  why?: string | undefined;
}

/** Programs, versions and logins of the runtimes that have a program, and why a model runs elsewhere than one may think. */
export function checkRuntimes(seen: RuntimesSeen | undefined): Finding[] {
  if (!seen) return [];
  const programs = seen.facts.flatMap(({ id, program }): Finding[] => {
    if (!program) return [];
    if ("problem" in program) {
      // Whoever wants it is told as an error by the run that is refused.
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
  const fix = "pagurus runtimes explain tells more.";
  return [...programs, { level: "info", check: "runtimes", detail, fix }];
}

/** Policies of models and agents other than those of the next run are seen by nobody before they refuse one. */
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
