/** House checks that no linter has: sizes of the contract, names of folders, where programs are found and started. */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { filesUnder, foldersUnder, sourceFiles } from "./source-files.ts";

const CONTRACT_LINES = 150;
const VAGUE = new Set(["utils", "util", "helpers", "helper", "common", "misc", "shared", "lib"]);

/** The only files of the program that start processes, and that search the folders of PATH. */
const STARTS = "packages/core/src/platform/start-program.ts";
const SEARCHES = "packages/core/src/platform/executables.ts";
/** Runs inside other programs and imports nothing of ours; it starts one file by its path. */
const STARTS_INSIDE = "packages/inside/src/node/node-place.ts";
const SEARCHES_PATH =
  /\bdelimiter\b[^;]*\bfrom\s+["'](?:node:)?path["']|\bpath\.(?:posix\.)?delimiter\b|\bPATH\b[^;\n]*\.split\(["'`]:/;

/** A program that is started by its bare name, or found elsewhere, could be one that a command put into a folder of PATH. */
export function programProblems(file: string, text: string): string[] {
  const problems: string[] = [];
  if (file !== STARTS && file !== STARTS_INSIDE && /["'`](?:node:)?child_process["'`]/.test(text))
    problems.push(`${file}: starts processes itself; use ${STARTS} with a file of ${SEARCHES}`);
  if (file !== SEARCHES && SEARCHES_PATH.test(text))
    problems.push(`${file}: searches PATH itself; use findProgram or pathFolders of ${SEARCHES}`);
  return problems;
}

/** One sentence for each violation. */
export function checkHouse(root: string): string[] {
  const problems: string[] = [];
  for (const file of filesUnder(root, "packages/contract/src", ".ts")) {
    const lines = readFileSync(join(root, file), "utf8").trimEnd().split("\n").length;
    if (lines > CONTRACT_LINES)
      problems.push(`${file}: ${lines} lines; a contract file has at most ${CONTRACT_LINES}`);
  }
  for (const top of ["packages", "test", "bench", "scripts"]) {
    const names = [...foldersUnder(root, top), ...filesUnder(root, top, ".ts")];
    for (const name of names) {
      const word = basename(name).replace(/(\.test)?\.ts$/, "");
      if (VAGUE.has(word)) problems.push(`${name}: a name that says what is in it, not \`${word}\``);
    }
  }
  for (const file of sourceFiles(root))
    problems.push(...programProblems(file, readFileSync(join(root, file), "utf8")));
  return problems;
}
