/**
 * `npm run house [-- --root DIR] [--json]`: what the source looks like to a reader, as figures, beside the limits of
 * `npm run lint` and the figures of projects that we admire. `--root` is another checkout of Pagurus, with its packages.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ROOT, runCommand } from "./command.ts";
import { sourceFiles, sourceFolders } from "./source-files.ts";
import { blanked, sourceTokens } from "./source-tokens.ts";

/** The stages of a turn; the second, of a commit before the packages. */
const TURN = ["packages/host/src/turn", "src/turn"];

interface SourceFile {
  path: string;
  source: string;
  /** Without comments and texts. */
  code: string;
  codeLines: number;
}

export interface Figure {
  title: string;
  value: number;
  unit: "" | "%" | "lines" | "words" | "functions" | "files";
  /** The figures of admired projects, where they were counted. */
  anchors?: string;
  /** `npm run lint` fails outside of it. Only for what is always wrong; other figures are printed and read by people. */
  limit?: { most?: number; least?: number };
  /** What we would like to reach. */
  aim?: string;
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((1000 * part) / whole) / 10;
}

function readSources(root: string): SourceFile[] {
  return sourceFiles(root)
    .filter((path) => !/generated|\.d\.ts$/.test(path))
    .map((path) => {
      const source = readFileSync(join(root, path), "utf8");
      const counted = blanked(source, ["comment"]);
      return {
        path,
        source,
        code: blanked(source, ["comment", "text", "regex"]),
        codeLines: counted.split("\n").filter((line) => line.trim() !== "").length,
      };
    })
    .filter(({ source }) => !/@generated|GENERATED CODE/.test(source.slice(0, 300)));
}

/** Of the numbers in order, the one at a share of the way. */
function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
}

function sharedBaseNames(files: readonly SourceFile[]): number {
  const groups = Object.groupBy(files, ({ path }) => basename(path));
  const shared = Object.values(groups).filter((group = []) => group.length > 1);
  return percent(
    shared.reduce((sum, group = []) => sum + group.length, 0),
    files.length,
  );
}

/** The file of a specifier: of this package, or of another one of the workspace. */
function fileOf(specifier: string, from: string): string {
  const [, name = "", rest = ""] = /^@pagurus\/([\w-]+)\/(.+)$/.exec(specifier) ?? [];
  return name === "" ? join(dirname(from), specifier) : `packages/${name}/src/${rest}.ts`;
}

/** The files that a file imports, `import()` included; `types`: imports of types alone count too. */
function importsOf({ path, source }: SourceFile, types = true): Set<string> {
  const found = source.matchAll(
    /(import type [^;"]*|export type [^;"]*)?(?:from|import\()\s*"(\.[^"]+\.ts|@pagurus\/[^"]+)"/g,
  );
  return new Set(
    [...found].flatMap(([, type, target = ""]) =>
      types || type === undefined ? [fileOf(target, path)] : [],
    ),
  );
}

function withOneImporter(files: readonly SourceFile[]): number {
  const importers = new Map<string, number>();
  for (const file of files)
    for (const target of importsOf(file)) importers.set(target, (importers.get(target) ?? 0) + 1);
  return percent(files.filter(({ path }) => importers.get(path) === 1).length, files.length);
}

/** Pairs of folders in a folder that import each other. */
function mutualFolders(files: readonly SourceFile[], within: string): number {
  const folderOf = (path: string): string =>
    dirname(path)
      .slice(within.length + 1)
      .split("/", 1)[0] || ".";
  const inside = (path: string): boolean => path.startsWith(`${within}/`);
  const imports = new Set(
    files
      .filter(({ path }) => inside(path))
      .flatMap((file) =>
        [...importsOf(file)].filter(inside).map((target) => `${folderOf(file.path)} ${folderOf(target)}`),
      ),
  );
  const mutual = [...imports].filter((pair) => {
    const [one = "", other = ""] = pair.split(" ");
    return one < other && imports.has(`${other} ${one}`);
  });
  return mutual.length;
}

/** Files in the longest chain of imports that run code, those that are loaded on request included. */
function longestChain(files: readonly SourceFile[]): number {
  const imports = new Map(files.map((file) => [file.path, importsOf(file, false)]));
  const lengths = new Map<string, number>();
  const lengthOf = (path: string): number => {
    const known = lengths.get(path);
    if (known !== undefined) return known;
    // A loop would not end; the lint has no loops.
    lengths.set(path, 1);
    const length = 1 + Math.max(0, ...[...(imports.get(path) ?? [])].map(lengthOf));
    lengths.set(path, length);
    return length;
  };
  return Math.max(...files.map(({ path }) => lengthOf(path)));
}

/** Packages that reach themselves over the imports of others, those of types included. */
function packagesInCycles(files: readonly SourceFile[]): number {
  const packageOf = (path: string): string => /^packages\/([\w-]+)\//.exec(path)?.[1] ?? "";
  const imports = new Map<string, Set<string>>();
  for (const file of files) {
    const from = packageOf(file.path);
    const known = imports.get(from) ?? new Set();
    for (const target of importsOf(file)) if (packageOf(target) !== from) known.add(packageOf(target));
    imports.set(from, known);
  }
  const reaches = (from: string, seen: Set<string>): Set<string> => {
    for (const next of imports.get(from) ?? []) if (!seen.has(next)) reaches(next, seen.add(next));
    return seen;
  };
  return [...imports.keys()].filter((name) => reaches(name, new Set()).has(name)).length;
}

/** Functions and constants that are declared under one name in three or more files. */
function namesInThreeFiles(files: readonly SourceFile[]): number {
  const counts = new Map<string, number>();
  for (const { code } of files) {
    const declared = code.matchAll(/^(?:export )?(?:async )?(?:function\*?|const|class)\s+(\w+)/gm);
    for (const name of new Set([...declared].map(([, found = ""]) => found)))
      counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts.values()].filter((count) => count >= 3).length;
}

function bareErrors(files: readonly SourceFile[]): number {
  const thrown = files.flatMap(({ code }) =>
    [...code.matchAll(/\bthrow new (\w+)/g)].map(([, name]) => name),
  );
  return percent(thrown.filter((name) => name === "Error").length, thrown.length);
}

function commentOnlyCatches(files: readonly SourceFile[]): number {
  return files.reduce(
    (sum, { code }) => sum + (code.match(/\bcatch\s*(?:\([^)]*\)\s*)?\{\s*\}/g)?.length ?? 0),
    0,
  );
}

const CONTRACT_SENTENCE =
  /\b(?:throws?|rejects?|fails?|failed|failure|error|deadline|aborts?|aborted|absent|absence|ignored|optional|default|never)\b/i;

/** Of the members of `packages/contract/src` that a plugin implements or calls, those whose comment says what failure or absence means. */
function contractSentences(files: readonly SourceFile[]): number {
  const members = files
    .filter(({ path }) => path.startsWith("packages/contract/src/"))
    .flatMap(({ source, code }) =>
      [...code.matchAll(/^ {2}(?:readonly )?(\w+)\??(?:<[^>]*>)?(?:\(|:\s*\((?!.*\)\[\];))/gm)].map(
        ({ index }) => ({
          before: source.slice(0, index),
        }),
      ),
    );
  const documented = members.filter(({ before }) => {
    const comment = /\/\*\*(?:(?!\*\/)[^])*\*\/\s*$/.exec(before)?.[0] ?? "";
    return CONTRACT_SENTENCE.test(comment);
  });
  return percent(documented.length, members.length);
}

function commentWords(files: readonly SourceFile[]): number {
  return files.reduce(
    (sum, { source }) =>
      sum +
      [...sourceTokens(source)]
        .filter(({ kind }) => kind === "comment")
        .reduce((words, { text }) => words + (text.match(/[A-Za-z']+/g)?.length ?? 0), 0),
    0,
  );
}

function largestFolder(files: readonly SourceFile[]): number {
  const folders = Object.groupBy(files, ({ path }) => dirname(path));
  return Math.max(...Object.values(folders).map((each = []) => each.length));
}

interface Coverage {
  result: {
    url: string;
    functions: { functionName: string; ranges: { count: number; startOffset: number }[] }[];
  }[];
}

/** How many functions of `src` run for `pagurus run hello`, with the offline model and in a home of its own. */
async function helloFunctions(root: string, engine: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-house-"));
  try {
    const env = {
      PATH: process.env["PATH"],
      HOME: folder,
      PAGURUS_HOME: join(folder, "home"),
      NODE_V8_COVERAGE: join(folder, "coverage"),
      PAGURUS_NO_PROBE: "1",
    };
    const [main = ""] = ["packages/cli/src/main.ts", "src/cli/main.ts"]
      .map((file) => join(root, file))
      .filter((file) => existsSync(file));
    const home = { cwd: folder, env };
    await runCommand(process.execPath, [main, "config", "set", "plugins.slots.contextEngine", engine], home);
    rmSync(join(folder, "coverage"), { recursive: true, force: true });
    const ended = await runCommand(process.execPath, [main, "run", "hello"], home);
    if (ended.code !== 0) return Number.NaN;
    const ran = readdirSync(join(folder, "coverage")).flatMap((name) => {
      const { result } = JSON.parse(readFileSync(join(folder, "coverage", name), "utf8")) as Coverage;
      return result
        .filter(({ url }) =>
          sourceFolders(root).some((folder) => url.startsWith(`file://${root}/${folder}/`)),
        )
        .flatMap(({ url, functions }) =>
          functions
            // The function without a name at the start of a file is the module itself.
            .filter(({ functionName, ranges }) => functionName !== "" || ranges[0]?.startOffset !== 0)
            .filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
            .map(({ ranges }) => `${url}:${ranges[0]?.startOffset}`),
        );
    });
    return new Set(ran).size;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Figures of imports between folders, files and packages. */
function importFigures(root: string, files: readonly SourceFile[]): Figure[] {
  return [
    {
      title: "pairs of folders of the turn that import each other",
      value: mutualFolders(files, TURN.find((folder) => existsSync(join(root, folder))) ?? ""),
      unit: "",
      limit: { most: 0 },
    },
    {
      title: "longest chain of imports, without those of types",
      value: longestChain(files),
      unit: "files",
      aim: "25",
    },
    {
      title: "packages in a cycle of imports",
      value: packagesInCycles(files),
      unit: "",
      limit: { most: 0 },
    },
  ];
}

/** Those that are counted without running anything. */
export function houseFigures(root: string): Figure[] {
  const files = readSources(root);
  const lines = files.map(({ codeLines }) => codeLines);
  return [
    { title: "code in src", value: lines.reduce((sum, each) => sum + each, 0), unit: "lines" },
    { title: "files", value: files.length, unit: "files" },
    {
      title: "file, median",
      value: quantile(lines, 0.5),
      unit: "lines",
      anchors: "vercel 32, kysely 53, pi 340",
      aim: "65",
    },
    {
      title: "file, largest",
      value: Math.max(...lines),
      unit: "lines",
      anchors: "vercel 410, pi 682, kysely 2,971",
      limit: { most: 400 },
    },
    {
      title: "files beside each other in one folder",
      value: largestFolder(files),
      unit: "files",
      aim: "25",
    },
    {
      title: "files that share a base name",
      value: sharedBaseNames(files),
      unit: "%",
      anchors: "kysely 0, vercel 0",
      aim: "10",
    },
    {
      title: "files with one importer",
      value: withOneImporter(files),
      unit: "%",
      aim: "30",
    },
    ...importFigures(root, files),
    { title: "names declared in three or more files", value: namesInThreeFiles(files), unit: "" },
    {
      title: "contract members that say what failure or absence means",
      value: contractSentences(files),
      unit: "%",
      limit: { least: 100 },
    },
    {
      title: "bare errors among what is thrown",
      value: bareErrors(files),
      unit: "%",
      anchors: "vercel 0, fastify 1, kysely 72",
      limit: { most: 1 },
    },
    {
      title: "catches without code",
      value: commentOnlyCatches(files),
      unit: "",
      anchors: "vercel 0, kysely 1, lossless-claw 41",
      limit: { most: 0 },
    },
    { title: "words of comments", value: commentWords(files), unit: "words" },
  ];
}

async function helloFigures(root: string): Promise<Figure[]> {
  return [
    {
      title: "functions of ours for a hello, `legacy`",
      value: await helloFunctions(root, "legacy"),
      unit: "functions",
      anchors: "pi 345",
      aim: "900",
    },
    {
      title: "functions of ours for a hello, `lossless`",
      value: await helloFunctions(root, "lossless"),
      unit: "functions",
      aim: "1,150",
    },
  ];
}

export function isWithin({ value, limit = {} }: Figure): boolean {
  return value <= (limit.most ?? Infinity) && value >= (limit.least ?? -Infinity);
}

/** One sentence for each figure outside of its limit. */
export function checkFigures(root: string): string[] {
  return houseFigures(root)
    .filter((figure) => !isWithin(figure))
    .map((figure) => rowOf(figure).trim());
}

function rowOf(figure: Figure): string {
  const { title, value, unit, anchors = "", limit, aim } = figure;
  const wanted =
    limit === undefined ? "" : `${limit.most === undefined ? "≥" : "≤"} ${limit.most ?? limit.least}`;
  const mark = isWithin(figure) ? "    " : "MISS";
  return `${mark} ${title.padEnd(56)} ${`${value.toLocaleString("en")} ${unit}`.padStart(18)}  ${wanted.padEnd(9)} ${aim === undefined ? "" : `aim ${aim}; `}${anchors}`.trimEnd();
}

/** All figures of a checkout that has its packages. */
export async function figuresOf(root: string): Promise<Figure[]> {
  return [...houseFigures(root), ...(await helloFigures(root))];
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { root: { type: "string", default: ROOT }, json: { type: "boolean", default: false } },
  });
  const figures = await figuresOf(resolve(values.root));
  if (values.json) console.log(JSON.stringify(figures, undefined, 2));
  else for (const figure of figures) console.log(rowOf(figure));
}
