/** Compares the folders inside packages with their import rules, with the table of docs/architecture/layers.md and with their tests. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const RULES = ".dependency-cruiser.cjs";
const PAGE = "docs/architecture/layers.md";
/** Folders whose own folders have a rule and a row each. */
const LAYERED = ["packages/core/src", "packages/host/src", "packages/host/src/turn", "packages/runtimes/src"];
/** Folders that only hold implementations, which have the rules. */
const HOLDERS = ["stores", "engines", "memories", "runtimes"].map((name) => `packages/host/src/${name}`);
/** Where the tests of an implementation are. */
const TESTED: readonly [folder: string, tests: string][] = [
  ["packages/runtimes/src", "test/runtimes"],
  ["packages/host/src/runtimes", "test/runtimes"],
  ["packages/host/src/engines", "test/engines"],
  ["packages/host/src/memories", "test/memories"],
];

interface Rule {
  name: string;
  from: { path?: string | string[] };
  to: { pathNot?: string | string[] };
}

function foldersIn(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${folder}/${name}`)
    .toSorted();
}

/** Folders with a job of their own. */
function layerFolders(root: string): string[] {
  return LAYERED.flatMap((folder) => foldersIn(root, folder)).flatMap((folder) =>
    HOLDERS.includes(folder) ? foldersIn(root, folder) : [folder],
  );
}

/** The folder of a rule's pattern, as `packages/core/src/data` of `^packages/core/src/data/`. */
function folderOf(pattern: string): string | undefined {
  return /^\^(packages\/[\w/-]+)\/$/.exec(pattern)?.[1];
}

/** What each folder may import by its own rule, the folder itself left out. */
function rulesOf(root: string): Map<string, string[]> {
  const { forbidden } = createRequire(import.meta.url)(join(root, RULES)) as { forbidden: Rule[] };
  return new Map(
    forbidden.flatMap(({ name, from, to }): [string, string[]][] => {
      const folder = folderOf(String(from.path));
      if (folder === undefined || !name.endsWith("-imports") || folder === "packages/inspector") return [];
      const allowed = [to.pathNot ?? []].flat().flatMap((pattern) => folderOf(pattern) ?? []);
      return [[folder, allowed.filter((each) => each !== folder).toSorted()]];
    }),
  );
}

/** The last cell of each row of the tables of folders, by folder; undefined where it summarizes (`those above`). */
function rowsOf(root: string): Map<string, string[] | undefined> {
  const [, page = ""] = readFileSync(join(root, PAGE), "utf8").split("\n## Folders of packages\n");
  const rows = page.matchAll(/^\| (`[^|]*\/`[^|]*)\|.*\|([^|]*)\|$/gm);
  return new Map(
    [...rows].flatMap(([, names = "", cell = ""]) =>
      [...names.matchAll(/`([\w-]+)\/([\w/-]+)\/`/g)].map(
        ([, first = "", rest = ""]): [string, string[] | undefined] => {
          if (first === "turn") return [`packages/host/src/turn/${rest}`, undefined];
          const words = cell.split(",").map((word) => word.trim());
          const allowed = words.filter((word) => word !== "" && word !== "nothing");
          return [
            `packages/${first}/src/${rest}`,
            allowed.map((name) => `packages/${first}/src/${name}`).toSorted(),
          ];
        },
      ),
    ),
  );
}

function lacksTests(root: string, folder: string): string[] {
  const [parent = "", tests = ""] = TESTED.find(([each]) => folder.startsWith(`${each}/`)) ?? [];
  if (parent === "") return [];
  const place = `${tests}${folder.slice(parent.length)}`;
  return ["", ".test.ts"].some((end) => existsSync(join(root, place + end)))
    ? []
    : [`${folder}/ has no tests in ${place}`];
}

/** One sentence for each forgotten place. */
export function checkLayerPlaces(root: string): string[] {
  const rules = rulesOf(root);
  const rows = rowsOf(root);
  const problems: string[] = [];
  for (const folder of layerFolders(root)) {
    const rule = rules.get(folder);
    const row = rows.get(folder);
    if (!rule) problems.push(`${folder}/ has no rule in ${RULES}`);
    if (!rows.has(folder)) problems.push(`${folder}/ has no row in ${PAGE}`);
    if (rule && row && rule.join() !== row.join())
      problems.push(
        `${PAGE}: ${folder}/ may import ${rule.join(", ") || "nothing"} by its rule, not ${row.join(", ") || "nothing"}`,
      );
    problems.push(...lacksTests(root, folder));
  }
  for (const folder of new Set([...rules.keys(), ...rows.keys()]))
    if (!existsSync(join(root, folder)))
      problems.push(`${RULES} or ${PAGE} names ${folder}/, which does not exist`);
  return problems;
}
