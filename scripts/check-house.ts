/** House checks that no linter has: sizes of the contract, names of folders. */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { filesUnder, foldersUnder } from "./source-files.ts";

const CONTRACT_LINES = 150;
const VAGUE = new Set(["utils", "util", "helpers", "helper", "common", "misc", "shared", "lib"]);

/** One sentence for each violation. */
export function checkHouse(root: string): string[] {
  const problems: string[] = [];
  for (const file of filesUnder(root, "src/contract", ".ts")) {
    const lines = readFileSync(join(root, file), "utf8").trimEnd().split("\n").length;
    if (lines > CONTRACT_LINES)
      problems.push(`${file}: ${lines} lines; a contract file has at most ${CONTRACT_LINES}`);
  }
  for (const top of ["src", "inspector", "test", "bench", "scripts"]) {
    const names = [...foldersUnder(root, top), ...filesUnder(root, top, ".ts")];
    for (const name of names) {
      const word = basename(name).replace(/(\.test)?\.ts$/, "");
      if (VAGUE.has(word)) problems.push(`${name}: a name that says what is in it, not \`${word}\``);
    }
  }
  return problems;
}
