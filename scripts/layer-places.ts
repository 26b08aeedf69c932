/** Compares the folders of `src/` with their import rules, with the table of docs/architecture/layers.md and with their tests. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const RULES = ".dependency-cruiser.cjs";
const PAGE = "docs/architecture/layers.md";
/** Folders of implementations: each has a rule, a row and tests of its own. */
const IMPLEMENTATIONS = ["engines", "runtimes", "memories"];
/** Public entries, which may import every folder. */
const ENTRIES = new Set(["plugin-sdk"]);
/** Rows that summarize the list of their rule. */
const SUMMARIZED = new Set(["turn", "cli"]);

interface Rule {
  name: string;
  from: { path?: string | string[] };
  to: { pathNot?: string | string[] };
}

function foldersIn(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted();
}

/** Folders with a job of their own, as the rules name them. */
function layerFolders(root: string): string[] {
  return foldersIn(root, "src").flatMap((name) =>
    IMPLEMENTATIONS.includes(name)
      ? foldersIn(root, `src/${name}`).map((inner) => `${name}/${inner}`)
      : [name],
  );
}

/** What each folder may import by its own rule; `data` and the folder itself are left out. */
function rulesOf(root: string): Map<string, string[]> {
  const { forbidden } = createRequire(import.meta.url)(join(root, RULES)) as { forbidden: Rule[] };
  return new Map(
    forbidden.flatMap(({ name, from, to }): [string, string[]][] => {
      const [, folder] = /^\^src\/([\w/-]+)\/$/.exec(String(from.path)) ?? [];
      if (folder === undefined || !name.endsWith("-imports")) return [];
      const allowed = [to.pathNot ?? []]
        .flat()
        .flatMap((path) => /^\^src\/([\w/-]+)\/$/.exec(path)?.[1] ?? []);
      return [[folder, allowed.filter((each) => each !== folder && each !== "data").toSorted()]];
    }),
  );
}

/** The last cell of each row of the page, by folder. */
function rowsOf(root: string): Map<string, string[]> {
  const rows = readFileSync(join(root, PAGE), "utf8").matchAll(/^\| (`[^|]*\/`[^|]*)\|.*\|([^|]*)\|$/gm);
  return new Map(
    [...rows].flatMap(([, names = "", cell = ""]) => {
      const words = cell.split(",").map((word) => word.trim());
      const allowed = words.filter((word) => word !== "" && word !== "nothing").toSorted();
      return [...names.matchAll(/`([\w/-]+)\/`/g)].map(([, folder = ""]): [string, string[]] => [
        folder,
        allowed,
      ]);
    }),
  );
}

/** One sentence for each forgotten place. */
export function checkLayerPlaces(root: string): string[] {
  const rules = rulesOf(root);
  const rows = rowsOf(root);
  const problems: string[] = [];
  for (const folder of layerFolders(root)) {
    if (ENTRIES.has(folder)) continue;
    const rule = rules.get(folder);
    const row = rows.get(folder);
    if (!rule) problems.push(`src/${folder}/ has no rule in ${RULES}`);
    if (!row) problems.push(`src/${folder}/ has no row in ${PAGE}`);
    if (rule && row && !SUMMARIZED.has(folder) && rule.join() !== row.join())
      problems.push(
        `${PAGE}: ${folder}/ may import ${rule.join(", ") || "nothing"} by its rule, not ${row.join(", ") || "nothing"}`,
      );
    const [kind = "", name = ""] = folder.split("/");
    const tests = name === "" ? [] : ["", ".test.ts"].map((end) => `test/${kind}/${name}${end}`);
    if (name !== "" && !tests.some((path) => existsSync(join(root, path))))
      problems.push(`src/${folder}/ has no tests in test/${kind}/${name}`);
  }
  for (const folder of new Set([...rules.keys(), ...rows.keys()]))
    if (!existsSync(join(root, "src", folder)))
      problems.push(`${RULES} or ${PAGE} names src/${folder}/, which does not exist`);
  return problems;
}
