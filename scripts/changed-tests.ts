/**
 * The tests that a change can break: those whose imports, or imports of their imports, reach a changed file, those that name one, and, if the
 * program itself changed, those that start it. `npm test -- --changed=main` runs them.
 */
import { readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { runCommand } from "./command.ts";
import { filesUnder } from "./source-files.ts";

const FOLDERS = ["packages", "test", "scripts", "bench", "examples", "bin"];
const ENDS = [".ts", ".tsx", ".js", ".cjs"];
/** Files that all tests depend on. */
const OF_ALL =
  /^(?:package(?:-lock)?\.json|tsconfig\.json|\.ci\/|packages\/[\w-]+\/package\.json$|scripts\/test[\w-]*\.ts$|test\/runner\/)/;
const ENTRY = "packages/cli/src/main.ts";
const PROCESS = ".process.test.ts";
const REAL = "test/real/";
const SPECIFIER = /(?:\bfrom\s*|\bimport\(?\s*|new URL\(\s*)"(\.{1,2}\/[^"]+|@pagurus\/[\w-]+\/[^"]+)"/g;

/** Sources by their paths from the root. */
export type Sources = ReadonlyMap<string, string>;

function importsOf(path: string, source: string): string[] {
  return [...source.matchAll(SPECIFIER)].map(([, specifier = ""]) => {
    const [, name = "", rest = ""] = /^@pagurus\/([\w-]+)\/(.+)$/.exec(specifier) ?? [];
    return name === "" ? posix.join(dirname(path), specifier) : `packages/${name}/src/${rest}.ts`;
  });
}

/** Files that reach one of these over imports, these included. */
function reaching(wanted: readonly string[], importers: ReadonlyMap<string, readonly string[]>): Set<string> {
  const found = new Set(wanted);
  for (const path of found) for (const importer of importers.get(path) ?? []) found.add(importer);
  return found;
}

/** Test files that a change of these files can break; undefined: all of them. */
export function testsOf(changed: readonly string[], sources: Sources): string[] | undefined {
  if (changed.some((path) => OF_ALL.test(path))) return undefined;
  const importers = new Map<string, string[]>();
  for (const [path, source] of sources)
    for (const target of importsOf(path, source)) {
      const known = importers.get(target);
      if (known) known.push(path);
      else importers.set(target, [path]);
    }
  const named = [...sources].flatMap(([path, source]) =>
    changed.some((each) => !sources.has(each) && source.includes(each)) ? [path] : [],
  );
  const reached = reaching([...changed, ...named], importers);
  const isProgram = reached.has(ENTRY);
  const isDocs = changed.some((path) => path.endsWith(".md"));
  return [...sources.keys()].filter(
    (path) =>
      path.endsWith(".test.ts") &&
      (reached.has(path) ||
        (isProgram && path.endsWith(PROCESS) && !path.startsWith(REAL)) ||
        (isDocs && path.startsWith("test/docs/"))),
  );
}

async function git(root: string, ...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await runCommand("git", args, { cwd: root });
  if (code !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
  return stdout.split("\n").filter((line) => line !== "");
}

/** Test files that the work since a commit can break, what is not committed included; undefined: all. Throws where git fails. */
export async function changedTests(root: string, base: string): Promise<string[] | undefined> {
  const [common = base] = await git(root, "merge-base", base, "HEAD");
  const changed = [
    ...(await git(root, "diff", "--name-only", common)),
    ...(await git(root, "ls-files", "--others", "--exclude-standard")),
  ];
  const files = FOLDERS.flatMap((folder) => ENDS.flatMap((end) => filesUnder(root, folder, end)));
  return testsOf(changed, new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")])));
}
