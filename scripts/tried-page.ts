/** docs/tried-with.md: the versions that the tests ran with, and the results of `npm run newest -- --all --write`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { trialOf, TRIED, type TriedProgram } from "../packages/core/src/data/tried-programs.ts";
import { SUBJECTS } from "../test/real/tried/subjects.ts";
import { markdownTable } from "./markdown-table.ts";
import { isSubject, isTrial, type Trial } from "./newest-trial.ts";

export const FACTS = "packages/core/src/data/tried-programs.ts";
export const PAGE = "docs/tried-with.md";
export const RESULTS = "test/real/tried/results.json";

export interface Results {
  /** Day of the trials. */
  date: string;
  /** By program, in the order of the table. */
  programs: Record<string, { newest: string; versions: Record<string, Trial> }>;
}

export function readResults(root: string): Results {
  return JSON.parse(readFileSync(join(root, RESULTS), "utf8")) as Results;
}

function trialTable(programs: Readonly<Record<string, TriedProgram>>, { programs: tried }: Results): string {
  const ids = Object.keys(programs).filter(isTrial);
  const rows = ids.flatMap((id) =>
    Object.entries(tried[id]?.versions ?? {}).map(([version, trial]) => {
      const roles = [
        ...(version === programs[id]?.to ? ["pinned"] : []),
        ...(version === tried[id]?.newest ? ["newest"] : []),
      ];
      const { turns, compaction, resume, conformance } = trial;
      const shown = roles.length === 0 ? version : `${version} (${roles.join(" and ")})`;
      const way = isSubject(id) ? SUBJECTS[id].way : `\`pagurus wire -- ${id}\``;
      return [`\`${id}\``, shown, way, turns, compaction, resume, conformance];
    }),
  );
  const head = ["program", "version", "as", "10 turns with tools", "compaction", "resume", "conformance"];
  return markdownTable(head, rows);
}

const SEAMS: Readonly<Record<NonNullable<TriedProgram["suite"]>, string>> = {
  runtime: "turns that the host runs in it",
  wire: "starts of it under `pagurus wire`",
  client: "starts of it with `pagurus acp` as its agent",
};

/** Defects of the programs themselves; nothing where there are none. */
function defectLines(programs: Readonly<Record<string, TriedProgram>>): string[] {
  const lines = Object.values(programs).flatMap(({ label, to, defect }) =>
    defect === undefined ? [] : [`- ${label} ${to}: ${defect}`],
  );
  return lines.length === 0 ? [] : ["## Defects of the programs", "", ...lines, ""];
}

/** The page, of the list and the results. */
export function pageOf(programs: Readonly<Record<string, TriedProgram>>, results: Results): string {
  const rows = Object.entries(programs).map(([id, program]) => {
    const { label, from, to, suite } = program;
    const trial = trialOf(id, program);
    return [
      `\`${id}\``,
      label,
      from === to ? from : `${from} to ${to}`,
      trial === undefined ? "" : `\`${trial}\``,
      suite === undefined ? "" : SEAMS[suite],
    ];
  });
  return [
    "# Tried with",
    "",
    "Versions of other makers' programs that the tests ran with. A version inside its range is not reported. Beyond it one note",
    "comes for each version, and names the command that tries it on your machine; when all its checks pass, that is remembered and",
    "the note does not come again. `pagurus doctor` lists the installed programs with their versions.",
    "",
    markdownTable(["program", "name", "versions", "tried by", "tried are"], rows),
    "",
    "## Trials",
    "",
    `Of ${results.date}, by \`npm run newest -- --all --write\`, which installs the newest version of each program from the npm registry`,
    "in a folder of its own. Each version is used as its user has it with Pagurus, against a local model: 10 turns, in each of which",
    "the model has a file written and read; a compaction, after which the next request is shorter and has the first turn's facts; and",
    "one more turn in a new process, whose request has the facts of the first turn and of the last. The files and requests are compared, not",
    "the program's words. Conformance is `pagurus runtimes test`: [the suite of runtimes](conformance.md) where the host runs turns in the",
    "program, and the suite of programs where a user starts it: what a start shows the model and the user, its end, its interrupt, the",
    "session, and the engine's compaction.",
    "",
    trialTable(programs, results),
    "",
    ...defectLines(programs),
  ].join("\n");
}

/** One sentence for each fact that is not the same in the list, the pins, the results and the page. */
export function checkTriedPrograms(root: string): string[] {
  const { dependencies } = JSON.parse(readFileSync(join(root, "test/real/package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const results = readResults(root);
  const programs = Object.entries<TriedProgram>(TRIED);
  const problems = programs
    .filter(([, { npm, to }]) => dependencies[npm] !== to)
    .map(
      ([id, { npm, to }]) =>
        `${FACTS}: ${id} was tried to ${to}, and test/real/package.json has ${npm} ${dependencies[npm]}`,
    );
  for (const [id, { to }] of programs)
    if (isSubject(id) && !results.programs[id]?.versions[to])
      problems.push(`${RESULTS} has no trial of ${id} ${to}; run \`npm run newest -- --all --write\``);
  if (readFileSync(join(root, PAGE), "utf8") !== pageOf(TRIED, results))
    problems.push(`${PAGE} is not the page of ${FACTS} and ${RESULTS}; run \`npm run newest -- --page\``);
  return problems;
}
