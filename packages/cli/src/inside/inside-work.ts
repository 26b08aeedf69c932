/** `pagurus install` and `pagurus uninstall`: the adapters in other programs. */
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { packageVersion } from "@pagurus/core/platform/package-version";
import {
  install,
  installedPrograms,
  uninstall,
  type TakenBack,
} from "@pagurus/inside/install/install-record";
import type { FileChange, InstallFacts, ProgramInstall } from "@pagurus/inside/install/program-install";
import { INSIDE_PROGRAMS } from "@pagurus/inside/install/programs";
import { residentProblem } from "@pagurus/server/resident-place";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { printLine, styleFor, type Cli } from "../cli.ts";
import { launcher } from "../launcher.ts";
import { WAKE_COMMAND } from "../resident/resident-command.ts";

export interface InsideOptions {
  yes?: true;
  dryRun?: true;
}

const DONE: Readonly<Record<TakenBack["how"], string>> = {
  restored: "restored as it was",
  removed: "removed",
  edited: "what the installation had put into it is taken out; your changes since are kept",
  kept: "left as it is, since you have changed it",
  gone: "was gone already",
};

function named(programs: readonly string[]): ProgramInstall[] {
  const unknown = programs.find((id) => !INSIDE_PROGRAMS.some((program) => program.id === id));
  if (unknown !== undefined) {
    const known = INSIDE_PROGRAMS.map(({ id }) => id).join(", ");
    throw usageError(
      `There is no adapter for ${JSON.stringify(unknown)}; there is one for ${known}, and pagurus plugins install installs a plugin.`,
    );
  }
  return INSIDE_PROGRAMS.filter(({ id }) => programs.length === 0 || programs.includes(id));
}

function factsOf(cli: Cli): InstallFacts {
  const home = resolveHome(cli.env);
  const wake = ["env", `PAGURUS_HOME=${home}`, process.execPath, launcher(), WAKE_COMMAND];
  return { home, env: cli.env, wake, version: packageVersion() };
}

/** Throws `usage_invalid` for an unknown program, for one that is not found, and without an answer. */
export async function installInside(
  cli: Cli,
  programs: readonly string[],
  options: InsideOptions,
): Promise<number> {
  const facts = factsOf(cli);
  const problem = residentProblem(facts.home);
  if (problem !== undefined) throw usageError(problem);
  const planned = named(programs).flatMap((program) => {
    const found = program.find(facts);
    return found ? [{ program, folder: found.folder, changes: program.changes(facts, found.folder) }] : [];
  });
  const missing = programs.find((id) => !planned.some(({ program }) => program.id === id));
  if (missing !== undefined) throw usageError(`${missing} is not on this machine, so nothing was changed.`);
  if (planned.length === 0) throw usageError("None of the programs with an adapter is on this machine.");
  for (const each of planned) {
    printLine(cli.stdout, `${each.program.label} (${each.program.id}), ${each.folder}`);
    for (const line of each.changes.flatMap(changeLines)) printLine(cli.stdout, `  ${line}`);
  }
  if (options.dryRun || !(await agreed(cli, options, "Make these changes?"))) {
    printLine(cli.stdout, "Nothing was changed.");
    return EXIT_DONE;
  }
  for (const { program, changes } of planned) {
    install(facts.home, program.id, facts.version, changes);
    printLine(
      cli.stdout,
      `${program.label} has the engine from its next start on; pagurus uninstall ${program.id} takes it out.`,
    );
  }
  return EXIT_DONE;
}

/** The lines of one change: a new file, one that is written again, or the lines that change in a file of the user. */
function changeLines({ path, text, about }: FileChange): string[] {
  if (!existsSync(path)) return [`new      ${path} (${about}, ${Buffer.byteLength(text)} bytes)`];
  const before = readFileSync(path, "utf8");
  if (before === text) return [`as it is ${path}`];
  const [old, next] = [before.split("\n"), text.split("\n")];
  return [
    `changed  ${path} (${about})`,
    ...old.filter((line) => !next.includes(line)).map((line) => `  - ${line}`),
    ...next.filter((line) => !old.includes(line)).map((line) => `  + ${line}`),
  ];
}

async function agreed(cli: Cli, { yes }: InsideOptions, question: string): Promise<boolean> {
  if (yes) return true;
  if (cli.stdin.isTTY !== true || cli.stderr.isTTY !== true)
    throw usageError(
      "Without a terminal to ask in, name --yes to make these changes, or --dry-run to see them.",
    );
  cli.stderr.write(styleFor(cli.stderr, cli.env)("bold", `${question} [y/N] `));
  const lines = createInterface({ input: cli.stdin });
  const answer = await new Promise<string>((resolve) => {
    lines.once("line", resolve).once("close", () => resolve(""));
  });
  lines.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** Throws `usage_invalid` for an unknown program, for one without the adapter, and without an answer. */
export async function uninstallInside(
  cli: Cli,
  programs: readonly string[],
  options: InsideOptions,
): Promise<number> {
  const home = resolveHome(cli.env);
  const installed = installedPrograms(home);
  const chosen = named(programs).filter(({ id }) => installed.has(id));
  const missing = programs.find((id) => !installed.has(id));
  if (missing !== undefined)
    throw usageError(`${missing} has no adapter of this home, so nothing was changed.`);
  if (chosen.length === 0) throw usageError("No program has an adapter of this home.");
  for (const { id, label } of chosen) {
    printLine(cli.stdout, label);
    for (const { path, copy } of installed.get(id)?.files ?? [])
      printLine(cli.stdout, `  ${copy === undefined ? "remove " : "restore"} ${path}`);
  }
  if (options.dryRun || !(await agreed(cli, options, "Take it out?"))) {
    printLine(cli.stdout, "Nothing was changed.");
    return EXIT_DONE;
  }
  for (const { id, label, withdraw } of chosen) {
    const done = uninstall(home, id, withdraw);
    for (const { path, how } of done) printLine(cli.stdout, `  ${path}: ${DONE[how]}`);
    printLine(
      cli.stdout,
      `${label} works without the engine from its next start on; its conversations stay in pagurus sessions list.`,
    );
  }
  return EXIT_DONE;
}
