/**
 * `npm run build`: `dist/`, with the JavaScript of the packages by rolldown, its declarations by tsc, and the inspector's page by Vite.
 *
 * The modules are bundled into one file for each entry and for each set of modules that several of them share
 * (`dist/chunks/`): `import "pagurus"` takes 25 ms instead of 149. It is one build, so each module, and with it each
 * class and registry, exists once, whichever entries a process loads; only the store's thread has its own copies. `import()` stays
 * lazy, except for the modules that each turn needs; packages stay outside, except for a part of one and for `BUNDLED`. Names and lines
 * stay readable in stack traces, so there are no source maps.
 *
 * A module may load a neighbouring file: `import.meta.url` is, in the build too, the URL that the unbundled module would have
 * (`packages/core/src/a/b.ts` -> `dist/core/a/b.js`). A module that is loaded this way, as a thread or a resolution hook, is listed in `INTERNAL`;
 * the build fails for one that is not.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import {
  rolldown,
  type ChunkingContext,
  type CodeSplittingGroup,
  type OutputAsset,
  type OutputChunk,
  type OutputOptions,
  type Plugin,
} from "rolldown";
import { build as buildWithVite } from "vite";
import { ADAPTER_FOLDERS, adapterFiles } from "../packages/inside/src/install/adapter-files.ts";
import { ROOT, runCommand } from "./command.ts";
import { filesUnder, sourceFiles } from "./source-files.ts";
import { startScripts } from "./start-scripts.ts";

/** What package.json exports: an entry of `dist/`, and the module that it has. */
export const PUBLIC: Readonly<Record<string, string>> = {
  index: "app/index",
  contract: "contract/index",
  "plugin-sdk/index": "host/plugin-sdk/index",
  "testkit/index": "testkit/index",
  "client/index": "client/index",
};
/** Modules that `bin/start.js`, a thread or a resolution hook loads by path. */
const INTERNAL = [
  "cli/main",
  "cli/context/replay-process",
  "cli/engines/suite-process",
  "channels/email/mail-parser-worker",
  "core/config/schema-library",
  "core/platform/start-script",
  "cli/server/blocking-worker",
  "lossless/encoder/encoder-worker",
  "lossless/store/worker",
  "core/platform/json/json-worker",
  "host/checkpoints/checkpoint-worker",
  "host/plugin/compat/sdk",
  "host/plugin/compat/sdk-required",
  "host/plugin/compat/sdk-stubs",
  "postgres/worker",
];

/** The one module that is bundled with the package it imports; its comment has the reason. */
const SCHEMA_LIBRARY = join(ROOT, moduleFile("core/config/schema-library"));

const OWN_PACKAGE = /^@pagurus\//;

/** Packages that are bundled: one that every command loads, so that a start reads fewer files, and one of which few files are used. */
const BUNDLED = /^(?:commander|highlight\.js)(?:\/|$)/;

/** The modules that a turn loads, in order; see `startGroups`. There are few groups, since a file costs about a millisecond. */
const START: Record<string, readonly string[]> = {
  version: ["cli/main"],
  contract: ["contract/index", "host/plugin-sdk/index", "host/plugin/compat/sdk"],
  command: ["cli/cli-process", "cli/run/run-work", "cli/resident/next-commands", "server/server-address"],
  host: [
    "app/app",
    "host/turn/turn",
    "lossless/lossless-engine",
    "gateway/capture/capture",
    "gateway/capture/observe-call",
    "core/model/provider-stream",
    "core/model/protocols/completions",
    "core/model/protocols/gemini",
    "core/model/protocols/messages",
    "core/model/protocols/responses",
    "core/protocols/completions/completions-reader",
    "core/protocols/gemini/gemini-reader",
    "core/protocols/messages/messages-reader",
    "core/protocols/responses/responses-reader",
  ],
};

const OWN_URL = "import.meta.url";
const MARK = /__OWN_URL__\("([^"]+)"\)/g;

/** Builds `dist/`. Returns the number of JavaScript files. Throws when a compiler fails or an entry is missing. */
export async function build(): Promise<number> {
  rmSync(join(ROOT, "dist"), { recursive: true, force: true });
  await Promise.all([declare(), bundle(true), buildInspector(join(ROOT, "dist/inspector"))]);
  writeAdapters();
  mustExist("dist/inspector/index.html", "the server serves it");
  for (const entry of Object.keys(PUBLIC)) mustExist(`dist/${entry}.d.ts`, "package.json exports it");
  for (const entry of [...Object.keys(PUBLIC), ...INTERNAL]) mustExist(`dist/${entry}.js`, "it is an entry");
  for (const file of sourceFiles(ROOT)) {
    for (const beside of besides(readFileSync(join(ROOT, file), "utf8"))) {
      const built = `dist/${posix.join(dirname(moduleName(file)), beside)}.js`;
      mustExist(built, `${file} reaches it by its path; name it among INTERNAL in scripts/build.ts`);
    }
  }
  return filesUnder(ROOT, "dist", ".js").length;
}

/** The files that run inside other programs: each by itself, as their loaders read them. */
function writeAdapters(): void {
  for (const [name, text] of adapterFiles(ADAPTER_FOLDERS)) {
    const file = join(ROOT, "dist/inside/adapters", name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

/** Name of the module in a file, which is its place below `dist/`: `core/platform/log` of `packages/core/src/platform/log.ts`. */
function moduleName(file: string): string {
  return file.replace(/^packages\/([\w-]+)\/src\//, "$1/").replace(/\.ts$/, "");
}

/** The file of a module, relative to the project. */
export function moduleFile(name: string): string {
  return name.replace(/^([\w-]+)\/(.*)$/, "packages/$1/src/$2.ts");
}

/** Names of the modules that a source reaches as `new URL("./name…", import.meta.url)`. */
function besides(source: string): string[] {
  return [...source.matchAll(/new URL\(\s*["'`]\.\/([\w/-]+)/g)].map(([, name = ""]) => name);
}

function mustExist(file: string, why: string): void {
  if (!existsSync(join(ROOT, file))) throw new Error(`${file} was not built; ${why}.`);
}

/**
 * Writes the declarations beside the modules, and one for each public entry. An import of another package becomes one of its file:
 * only the whole is published.
 */
async function declare(): Promise<void> {
  const out = mkdtempSync(join(tmpdir(), "pagurus-declarations-"));
  try {
    const args = ["-p", "tsconfig.build.json", "--outDir", out];
    const result = await runCommand(join(ROOT, "node_modules/.bin/tsc"), args);
    if (result.code !== 0) throw new Error(`tsc failed:\n${result.stdout}${result.stderr}`);
    for (const path of filesUnder(`${out}/`, ".", ".d.ts")) {
      const name = moduleName(path.replace(/\.d\.ts$/, ".ts"));
      const text = readFileSync(join(out, path), "utf8");
      writeDeclaration(
        name,
        text.replaceAll(
          PACKAGE_IMPORT,
          (_, before: string, spec: string) => `${before}${besideOf(name, builtModule(spec))}"`,
        ),
      );
    }
    for (const [entry, module] of Object.entries(PUBLIC))
      if (entry !== module)
        writeDeclaration(entry, `export * from ${JSON.stringify(besideOf(entry, module))};\n`);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

/** In a declaration: `from "@pagurus/core/platform/log"`, `import("@pagurus/contract")`. */
const PACKAGE_IMPORT = /((?:\bfrom |\bimport\()")@pagurus\/([\w./-]+)"/g;

/** The module that a specifier of a package names, as its `exports` say. */
function builtModule(specifier: string): string {
  const [name = "", ...path] = specifier.split("/");
  const { exports } = JSON.parse(readFileSync(join(ROOT, "packages", name, "package.json"), "utf8")) as {
    exports: Record<string, string>;
  };
  const key = path.length === 0 ? "." : `./${path.join("/")}`;
  const file = exports[key] ?? exports["./*"]?.replace("*", path.join("/"));
  if (file === undefined) throw new Error(`packages/${name}/package.json does not export ${key}.`);
  return moduleName(posix.join("packages", name, file));
}

function besideOf(name: string, other: string): string {
  const path = posix.relative(dirname(name), other);
  return `${path.startsWith(".") ? "" : "./"}${path}.js`;
}

function writeDeclaration(name: string, text: string): void {
  const file = join(ROOT, "dist", `${name}.d.ts`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Builds the inspector's page into a folder, which is emptied. */
export async function buildInspector(outDir: string): Promise<void> {
  const configFile = join(ROOT, "packages/inspector/vite.config.ts");
  await buildWithVite({ configFile, build: { outDir } });
}

/** The entry that browsers load: a build of its own, as the others share code that imports Node.js. */
const CLIENT = "client/index";

/** The thread that starts in a turn: a build of its own, so that it does not divide the code of a turn. */
const STORE = "lossless/store/worker";

type BuiltFile = OutputChunk | OutputAsset;

/** The modules of `bundleFiles`. */
export async function bundle(write: boolean): Promise<OutputChunk[]> {
  return (await bundleFiles(write)).filter((file) => file.type === "chunk");
}

/** Bundles the JavaScript files, and the scripts beside them; optionally writes them to disk. */
export async function bundleFiles(write: boolean): Promise<BuiltFile[]> {
  const others = [...Object.keys(PUBLIC), ...INTERNAL].filter((entry) => entry !== CLIENT && entry !== STORE);
  return [
    ...(await bundled(others, "node", write)),
    ...(await bundled([STORE], "node", write)),
    ...(await bundled([CLIENT], "neutral", write)),
  ];
}

async function bundled(
  entries: readonly string[],
  platform: "node" | "neutral",
  write: boolean,
): Promise<BuiltFile[]> {
  const built = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(entries.map((entry) => [entry, moduleFile(PUBLIC[entry] ?? entry)])),
    platform,
    external: (id, importer) =>
      /^[^./]/.test(id) && !OWN_PACKAGE.test(id) && !BUNDLED.test(id) && importer !== SCHEMA_LIBRARY,
    plugins: [keepOwnUrls, asciiOnly, startScripts(isOfStart)],
    // An entry exports what its source does, and nothing for the chunks.
    preserveEntrySignatures: "strict",
    tsconfig: false,
    checks: { ineffectiveDynamicImport: false },
    onLog(level, { message }) {
      if (level === "warn") throw new Error(message);
    },
  });
  try {
    const options: OutputOptions = {
      dir: join(ROOT, "dist"),
      format: "esm",
      entryFileNames: "[name].js",
      chunkFileNames: "chunks/[name]-[hash].js",
      ...(platform === "node" ? { codeSplitting: { groups: startGroups() } } : {}),
      keepNames: true,
      comments: { legal: true, annotation: true, jsdoc: false },
      minify: false,
      sourcemap: false,
    };
    const { output } = await (write ? built.write(options) : built.generate(options));
    return output;
  } finally {
    await built.close();
  }
}

/**
 * Chunk groups for a turn's start. By default the entries and the many `import()`s would get one chunk for each set of them that
 * shares a module. The modules that a turn loads are split by `START` alone: one file for each set of these that needs a module.
 * Larger sets have priority, because a group includes what its modules import.
 */
function startGroups(): CodeSplittingGroup[] {
  const reached = new Map<string, ReadonlySet<string>>();
  const partsOf = (id: string, context: ChunkingContext): string[] =>
    Object.entries(START)
      .filter(([part, roots]) => {
        const known = reached.get(part) ?? reachable(roots, context);
        reached.set(part, known);
        return known.has(id);
      })
      .map(([part]) => part);
  const loader = join(ROOT, moduleFile("core/platform/start-script"));
  const alone = {
    debugName: "start-script",
    name: (id: string) => (id === loader ? "start-script" : null),
    priority: 100,
  };
  const groups = Object.keys(START).map((_, index) => ({
    debugName: `shared by ${index + 1}`,
    priority: index + 1,
    name: (id: string, context: ChunkingContext) => {
      const parts = context.getModuleInfo(id)?.isEntry ? [] : partsOf(id, context);
      return parts.length === index + 1 ? parts.join("-") : null;
    },
  }));
  return [alone, ...groups];
}

/** These modules and all that they import statically, at any depth. */
function reachable(roots: readonly string[], context: ChunkingContext): ReadonlySet<string> {
  const seen = new Set(roots.map((root) => join(ROOT, moduleFile(root))));
  for (const id of seen)
    for (const imported of context.getModuleInfo(id)?.importedIds ?? []) seen.add(imported);
  return seen;
}

/** Whether a chunk is one of those groups, with its parts in their order, or beside them. */
function isOfStart({ name, isEntry }: OutputChunk): boolean {
  if (isEntry) return name === "cli/main";
  if (name === "start-script" || name === "rolldown-runtime") return true;
  const parts = name.split("-");
  return (
    name ===
    Object.keys(START)
      .filter((part) => parts.includes(part))
      .join("-")
  );
}

/** Keeps each module's own `import.meta.url`, which would otherwise be the URL of the shared file. */
const keepOwnUrls: Plugin = {
  name: "own-urls",
  transform: {
    filter: { code: /import\.meta\./ },
    handler(code, id) {
      const file = posix.relative(ROOT, id);
      if (!/^packages\/[\w-]+\/src\//.test(file)) return null;
      const own = `${moduleName(file)}.js`;
      const marked = code.replaceAll(OWN_URL, `__OWN_URL__(${JSON.stringify(own)})`);
      if (marked.includes("import.meta."))
        throw new Error(`${id} uses import.meta; the build keeps ${OWN_URL} alone.`);
      return { code: marked, map: null };
    },
  },
  renderChunk(code, { fileName }) {
    if (!code.includes("__OWN_URL__")) return null;
    const up = posix.relative(dirname(fileName), ".") || ".";
    return code.replaceAll(MARK, (_, own: string) => `new URL("${up}/${own}", ${OWN_URL}).href`);
  },
};

/**
 * Writes characters beyond ASCII as escapes, in whatever literal they are: V8 keeps a file that has one of them with two bytes for each
 * character, a megabyte more for the modules of a turn. Throws for one after a backslash, which would escape the escape.
 */
export function asciiSource(code: string): string {
  return code.replace(/(\\*)([^\0-\x7f])/g, (_, before: string, character: string) => {
    if (before.length % 2 === 1)
      throw new Error(`A backslash before "${character}" has no meaning; remove it.`);
    return `${before}\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

const asciiOnly: Plugin = {
  name: "ascii-only",
  renderChunk: { order: "post", handler: (code) => asciiSource(code) },
};

if (import.meta.main) {
  try {
    console.log(`dist: ${await build()} files`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
