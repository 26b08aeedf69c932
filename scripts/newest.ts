/**
 * `npm run newest [-- --all] [--only ID,…] [--no-suite] [--jobs N] [--write]`: tries the newest version of each program of
 * `packages/core/src/data/tried-programs.ts`, installed beside the pinned ones in `test/real/.newest`, and prints a table. Pinned versions are tried
 * only with `--all`, since the tests try them in short. `--write` keeps the results, sets the last tried version of the programs whose
 * newer version passes, and writes docs/tried-with.md; `--page` writes only that. `--no-suite` leaves out the conformance suites, which
 * take most of the time, and keeps their last results. `--jobs` programs are tried at once, by default one.
 *
 * Exit code: 0 when all pass, 1 when something fails, 3 when all that ran passes and the npm registry did not answer, so that the newest
 * versions are not known.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { TRIED, type TriedProgram } from "../packages/core/src/data/tried-programs.ts";
import { pinnedVersion, programIn } from "../test/real/programs.ts";
import { ROOT, runCommand } from "./command.ts";
import { markdownTable } from "./markdown-table.ts";
import { isTrial, NOT_RUN, passes, tryVersion, type Trial } from "./newest-trial.ts";
import { FACTS, PAGE, pageOf, readResults, RESULTS } from "./tried-page.ts";

const PINNED = join(ROOT, "test/real");
const NEWEST = join(PINNED, ".newest");
const INSTALL_MS = 15 * 60_000;
const QUESTION_MS = 60_000;
const TURNS = 10;
const EXIT_OFFLINE = 3;

type ProgramId = keyof typeof TRIED;
const IDS = Object.keys(TRIED) as ProgramId[];

interface Row {
  id: ProgramId;
  version: string;
  /** `pinned`, `newest`, or both. */
  role: string;
  trial: Trial;
}

/** Undefined when the registry does not answer. */
async function newestOf(name: string): Promise<string | undefined> {
  const args = ["view", name, "version", "--fetch-retries=1", "--fetch-timeout=20000"];
  const { code, stdout, stderr } = await runCommand("npm", args, { deadlineMs: QUESTION_MS });
  if (code === 0 && stdout.trim() !== "") return stdout.trim();
  const why = stderr.trim().split("\n")[0] ?? "";
  console.error(`The newest version of ${name} is not known: npm view ended with code ${code} (${why}).`);
  return undefined;
}

/** Whether npm could install them. */
async function install(versions: ReadonlyMap<string, string>): Promise<boolean> {
  rmSync(join(NEWEST, "package.json"), { force: true });
  mkdirSync(NEWEST, { recursive: true });
  const dependencies = Object.fromEntries(versions);
  writeFileSync(join(NEWEST, "package.json"), JSON.stringify({ private: true, dependencies }));
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund"];
  const { code, stderr } = await runCommand("npm", ["install", ...flags], {
    cwd: NEWEST,
    deadlineMs: INSTALL_MS,
  });
  if (code !== 0) console.error(`npm install in test/real/.newest ended with code ${code}: ${stderr.trim()}`);
  return code === 0;
}

/** Versions of a program that are tried, each with the folder of its packages. */
function versionsOf(
  id: ProgramId,
  newest: string | undefined,
  isAll: boolean,
): { version: string; role: string; folder: string }[] {
  const version = pinnedVersion(TRIED[id].npm);
  const isNewer = newest !== undefined && newest !== version;
  const role = newest === version ? "pinned and newest" : "pinned";
  return [
    ...(isAll ? [{ version, role, folder: PINNED }] : []),
    ...(isNewer ? [{ version: newest, role: "newest", folder: NEWEST }] : []),
  ];
}

function table(rows: readonly Row[]): string {
  const head = [
    "program",
    "version",
    "",
    "--version",
    "protocol",
    "turns",
    "compaction",
    "resume",
    "conformance",
  ];
  return markdownTable(
    head,
    rows.map(({ id, version, role, trial }) => [
      id,
      version,
      role,
      trial.answers,
      trial.protocol,
      trial.turns,
      trial.compaction,
      trial.resume,
      trial.conformance,
    ]),
  );
}

/** Raises the last tried version of the programs whose newer version passes. */
function raised(rows: readonly Row[]): Record<string, TriedProgram> {
  let facts = readFileSync(join(ROOT, FACTS), "utf8");
  const programs: Record<string, TriedProgram> = { ...TRIED };
  for (const { id, version, role, trial } of rows) {
    const program = programs[id];
    if (role !== "newest" || !program || !passes(trial, version)) continue;
    programs[id] = { ...program, to: version };
    const start = facts.indexOf(`npm: "${program.npm}"`);
    const at = facts.indexOf(`to: "${program.to}"`, start);
    facts = `${facts.slice(0, at)}to: "${version}"${facts.slice(at + `to: "${program.to}"`.length)}`;
  }
  writeFileSync(join(ROOT, FACTS), facts);
  return programs;
}

/** Keeps the results of the programs that were tried; those of others stay. Called after each, so that an interrupted run keeps some. */
function keep(rows: readonly Row[], newest: ReadonlyMap<ProgramId, string>): void {
  const results = readResults(ROOT);
  for (const id of new Set(rows.map((row) => row.id).filter(isTrial))) {
    const own = rows.filter((row) => row.id === id);
    const before = results.programs[id]?.versions ?? {};
    const versions = own.map(({ version, trial }): [string, Trial] => {
      const { conformance = NOT_RUN } = before[version] ?? {};
      return [version, trial.conformance === NOT_RUN ? { ...trial, conformance } : trial];
    });
    results.programs[id] = { newest: newest.get(id) ?? "", versions: Object.fromEntries(versions) };
  }
  results.date = new Date().toISOString().slice(0, 10);
  writeFileSync(join(ROOT, RESULTS), `${JSON.stringify(results, undefined, 2)}\n`);
}

async function newestVersions(ids: readonly ProgramId[]): Promise<Map<ProgramId, string>> {
  const found = new Map<ProgramId, string>();
  for (const id of ids) {
    const version = await newestOf(TRIED[id].npm);
    // The next ones would wait for the same timeout.
    if (version === undefined) break;
    found.set(id, version);
  }
  return found;
}

function chosen(only: string | undefined): ProgramId[] {
  const names = only?.split(",") ?? IDS;
  const unknown = names.filter((name) => !(IDS as string[]).includes(name));
  if (unknown.length > 0) throw new Error(`--only ${unknown.join(",")}: there are ${IDS.join(", ")}.`);
  return IDS.filter((id) => names.includes(id));
}

function isRuntime(id: ProgramId): boolean {
  const program: TriedProgram = TRIED[id];
  return program.suite === "runtime";
}

interface Task {
  id: ProgramId;
  version: string;
  role: string;
  folder: string;
}

async function rowOf({ id, version, role, folder }: Task, suite: boolean): Promise<Row> {
  const command = programIn(join(folder, "node_modules"), id);
  const trial = await tryVersion(id, command, { turns: TURNS, suite });
  console.error(`${id} ${version} (${role}): ${passes(trial, version) ? "passes" : "does not pass"}`);
  return { id, version, role, trial };
}

/** Works through the tasks, so many at once; the results are in their order. */
async function inOrder<T, R>(tasks: readonly T[], jobs: number, work: (task: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const rest = tasks.entries();
  const worker = async (): Promise<void> => {
    for (const [index, task] of rest) results[index] = await work(task);
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  return results;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      all: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      page: { type: "boolean", default: false },
      "no-suite": { type: "boolean", default: false },
      only: { type: "string" },
      jobs: { type: "string", default: "1" },
    },
  });
  if (values.page) return writeFileSync(join(ROOT, PAGE), pageOf(TRIED, readResults(ROOT)));
  const ids = chosen(values.only);
  const newest = await newestVersions(ids);
  const newer = new Map(
    [...newest].flatMap(([id, version]): [string, string][] =>
      version === pinnedVersion(TRIED[id].npm) ? [] : [[TRIED[id].npm, version]],
    ),
  );
  const isOnline = newest.size === ids.length && (newer.size === 0 || (await install(newer)));
  const found = (id: ProgramId): string | undefined => (isOnline ? newest.get(id) : undefined);
  // The suites of runtimes take longest.
  const order = ids.toSorted((one, other) => Number(isRuntime(other)) - Number(isRuntime(one)));
  const tasks = order.flatMap((id) =>
    versionsOf(id, found(id), values.all).map((version) => ({ id, ...version })),
  );
  const done: Row[] = [];
  const rows = await inOrder(tasks, Number(values.jobs), async (task) => {
    const row = await rowOf(task, !values["no-suite"]);
    done.push(row);
    if (values.write) keep(done, newest);
    return row;
  });
  if (rows.length > 0) console.log(table(rows));
  else if (isOnline) console.log("Every newest version is the pinned one.");
  if (!isOnline) console.log("The npm registry did not answer: no newest version was tried.");
  if (values.write) writeFileSync(join(ROOT, PAGE), pageOf(raised(rows), readResults(ROOT)));
  const failed = rows.filter(({ trial, version }) => !passes(trial, version));
  process.exitCode = failed.length > 0 ? 1 : isOnline ? 0 : EXIT_OFFLINE;
}

await main();
