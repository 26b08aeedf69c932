/**
 * Compares each package with its manifest, its README and its row in docs/architecture/layers.md. The walls themselves are Node.js's:
 * a package reaches only what another one exports. `node scripts/package-places.ts --write` writes the `exports` of each manifest
 * from the imports of the other packages.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { ROOT } from "./command.ts";
import { filesUnder, packageNames } from "./source-files.ts";
import { blanked } from "./source-tokens.ts";

const PAGE = "docs/architecture/layers.md";
const OWN = "@pagurus/";
/** Packages that the build takes into its files, or whose types alone are imported. */
const NOT_INSTALLED = new Set(["highlight.js", "chat"]);
/** Names of modules that are no packages: the program itself, in a user's plugin, and the one that plugins of OpenClaw import. */
const FOREIGN = new Set(["pagurus", "openclaw"]);
const SPECIFIER =
  /(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+|\brequire\(\s*|createRequire\(import\.meta\.url\)\(\s*)"((?:node:)?[@.]?[\w./@-]+)"/g;

interface Manifest {
  name: string;
  exports?: Record<string, string>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

interface Package {
  folder: string;
  manifest: Manifest;
  /** Specifiers by file, in the order of the text. */
  imports: Map<string, string[]>;
}

function readManifest(root: string, folder: string): Manifest {
  return JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Manifest;
}

function readPackages(root: string): Map<string, Package> {
  return new Map(
    packageNames(root).map((name): [string, Package] => {
      const folder = `packages/${name}`;
      const files = [".ts", ".tsx"].flatMap((end) => filesUnder(root, `${folder}/src`, end));
      const imports = files.map((file): [string, string[]] => {
        const text = blanked(readFileSync(join(root, file), "utf8"), ["comment"]);
        return [file, [...text.matchAll(SPECIFIER)].map(([, specifier = ""]) => specifier)];
      });
      return [name, { folder, manifest: readManifest(root, folder), imports: new Map(imports) }];
    }),
  );
}

/** `core` of `@pagurus/core/data/paths`; undefined for what is no package of the project. */
function ownPackage(specifier: string): string | undefined {
  return specifier.startsWith(OWN) ? specifier.slice(OWN.length).split("/")[0] : undefined;
}

/** `@scope/name` or `name` of a specifier; undefined for a module of Node.js, a file and a package of the project. */
function installedPackage(specifier: string): string | undefined {
  if (/^(?:node:|\.|@pagurus\/)/.test(specifier)) return undefined;
  const [first = "", second = ""] = specifier.split("/");
  const name = first.startsWith("@") ? `${first}/${second}` : first;
  return FOREIGN.has(name) ? undefined : name;
}

/** Paths below `exports` that other packages import, by package. */
function importedPaths(packages: ReadonlyMap<string, Package>): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>([...packages.keys()].map((name) => [name, new Set<string>()]));
  for (const { imports } of packages.values())
    for (const specifier of [...imports.values()].flat()) {
      const name = ownPackage(specifier);
      if (name !== undefined) found.get(name)?.add(`.${specifier.slice(OWN.length + name.length)}`);
    }
  return found;
}

function exportProblems({ folder, manifest }: Package, imported: ReadonlySet<string>): string[] {
  const exported = Object.keys(manifest.exports ?? {});
  return exported
    .filter((path) => path !== "." && !path.includes("*") && !imported.has(path))
    .map((path) => `${folder}/package.json exports ${path}, which no other package imports`)
    .concat(
      [...imported]
        .filter((path) => !exported.includes(path) && !exported.includes("./*"))
        .map((path) => `${folder}/package.json does not export ${path}, which another package imports`),
    );
}

/** What a manifest names and no file imports, and the reverse. */
function dependencyProblems({ folder, manifest, imports }: Package): string[] {
  const named = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }));
  const specifiers = [...imports.values()].flat();
  const used = new Set(
    specifiers.flatMap((specifier) => {
      const own = ownPackage(specifier);
      return own === undefined ? (installedPackage(specifier) ?? []) : `${OWN}${own}`;
    }),
  );
  used.delete(manifest.name);
  const inside = [...imports].flatMap(([file, list]) =>
    list
      .filter((each) => each.startsWith(".") && !posix.join(dirname(file), each).startsWith(`${folder}/`))
      .map((each) => `${file} imports ${each}, which is outside ${folder}; name the package`),
  );
  return [
    ...inside,
    ...[...used]
      .filter((each) => !named.has(each))
      .map((each) => `${folder}/package.json does not name ${each}`),
    ...[...named].filter((each) => !used.has(each)).map((each) => `${folder} imports nothing of ${each}`),
  ];
}

/** The packages that reach themselves, each with the way. */
function cycles(packages: ReadonlyMap<string, Package>): string[] {
  const below = (name: string): string[] =>
    Object.keys(packages.get(name)?.manifest.dependencies ?? {}).flatMap((each) => ownPackage(each) ?? []);
  const follow = (name: string, way: readonly string[]): string[] => {
    if (way.includes(name)) return way[0] === name ? [[...way, name].join(" → ")] : [];
    return below(name).flatMap((each) => follow(each, [...way, name]));
  };
  const found = new Set([...packages.keys()].flatMap((name) => follow(name, [])));
  return [...found].map((way) => `packages import each other: ${way}`);
}

/** Of each row of the page's table of packages, those that it names as allowed. */
function rowsOf(root: string): Map<string, string[]> {
  const page = readFileSync(join(root, PAGE), "utf8");
  const [, section = ""] = /\n## Packages\n([^]*?)\n## /.exec(page) ?? [];
  return new Map(
    [...section.matchAll(/^\| \[`([\w-]+)`\][^|]*\|.*\|([^|]*)\|$/gm)].map(([, name = "", cell = ""]) => [
      name,
      cell
        .split(",")
        .map((word) => word.trim())
        .filter((word) => word !== "" && word !== "nothing")
        .toSorted(),
    ]),
  );
}

/** One sentence for each place that is wrong or forgotten. */
export function checkPackages(root: string): string[] {
  const packages = readPackages(root);
  const imported = importedPaths(packages);
  const published = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const rows = rowsOf(root);
  const problems = cycles(packages);
  for (const [name, one] of packages) {
    const { folder, manifest } = one;
    if (manifest.name !== OWN + name) problems.push(`${folder}/package.json has the name ${manifest.name}`);
    if (!existsSync(join(root, folder, "README.md"))) problems.push(`${folder} has no README.md`);
    const below = Object.keys(manifest.dependencies ?? {}).flatMap((each) => ownPackage(each) ?? []);
    const row = rows.get(name);
    if (!row) problems.push(`${PAGE} has no row for ${name}`);
    else if (row.join() !== below.toSorted().join())
      problems.push(
        `${PAGE}: ${name} imports ${below.join(", ") || "nothing"}, not ${row.join(", ") || "nothing"}`,
      );
    problems.push(...exportProblems(one, imported.get(name) ?? new Set()), ...dependencyProblems(one));
    if (name === "inspector") continue;
    for (const each of Object.keys(manifest.dependencies ?? {}))
      if (!each.startsWith(OWN) && !published.dependencies?.[each] && !NOT_INSTALLED.has(each))
        problems.push(`package.json does not install ${each}, which ${folder} imports`);
  }
  return problems;
}

function writeExports(root: string): void {
  const packages = readPackages(root);
  for (const [name, paths] of importedPaths(packages)) {
    const { folder = "", manifest } = packages.get(name) ?? {};
    if (!manifest?.exports || "./*" in manifest.exports) continue;
    const own = Object.entries(manifest.exports).filter(([path]) => path === ".");
    const others = [...paths].filter((path) => path !== ".").toSorted();
    manifest.exports = Object.fromEntries([
      ...own,
      ...others.map((path) => [path, `./src/${path.slice(2)}.ts`]),
    ]);
    writeFileSync(join(root, folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  }
}

if (import.meta.main) {
  if (process.argv.includes("--write")) writeExports(ROOT);
  for (const problem of checkPackages(ROOT)) console.log(problem);
}
