/** Compares the commands of the command line with README.md, with the tests and with the folders of `packages/cli/src/`. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "./command.ts";
import { filesUnder } from "./source-files.ts";

/** Names in the help of the program, in an empty home. Throws where the program does not start. */
async function commandsOf(root: string): Promise<string[]> {
  const home = mkdtempSync(join(tmpdir(), "pagurus-commands-"));
  try {
    const env = { PATH: process.env["PATH"], HOME: home, PAGURUS_HOME: home };
    const args = [join(root, "bin/pagurus.js"), "--help"];
    const { code, stdout, stderr } = await runCommand(process.execPath, args, { env });
    if (code !== 0) throw new Error(`pagurus --help ended with code ${code}: ${stderr}`);
    // The groups of commands are between the options and the examples.
    const [, list = ""] = /\nOptions:\n[^]*?\n\n([^]*)\nExamples:/.exec(stdout) ?? [];
    return [...list.matchAll(/^ {2}([a-z]+)/gm)]
      .map(([, name = ""]) => name)
      .filter((name) => name !== "help");
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** The parts of a page that are code. */
function codeIn(markdown: string): string {
  return [...markdown.matchAll(/```[^]*?```|`[^`\n]+`/g)].map(([code]) => code).join("\n");
}

/** One sentence for each forgotten place. */
export async function checkCommandPlaces(root: string): Promise<string[]> {
  const readme = codeIn(readFileSync(join(root, "README.md"), "utf8"));
  const tests = filesUnder(root, "test", ".ts")
    .map((file) => readFileSync(join(root, file), "utf8"))
    .join("\n");
  const commands = await commandsOf(root);
  if (commands.length === 0) return ["pagurus --help lists no commands"];
  return commands.flatMap((name) => [
    ...(new RegExp(`\\bpagurus ${name}\\b`).test(readme)
      ? []
      : [`README.md does not show the command ${name}`]),
    ...(new RegExp(`\\[\\s*"${name}"`).test(tests)
      ? []
      : [`no test calls the command ${name} (["${name}", …])`]),
  ]);
}
