/**
 * `npm run build`: `dist/`, with the JavaScript of `src/` by rolldown, its declarations by tsc, and the inspector's page by Vite.
 *
 * The modules are bundled into one file for each entry and for each set of modules that several of them share
 * (`dist/chunks/`): `import "pagurus"` takes 25 ms instead of 149. It is one build, so each module, and with it each
 * class and registry, exists once, whichever entries a process loads; only the store's thread has its own copies. `import()` stays
 * lazy, except for the modules that each turn needs; packages stay outside, except for a part of one and for `BUNDLED`. Names and lines
 * stay readable in stack traces, so there are no source maps.
 *
 * A module may load a neighbouring file: `import.meta.url` is, in the build too, the URL that the unbundled module would have
 * (`src/a/b.ts` -> `dist/a/b.js`). A module that is loaded this way, as a thread or a resolution hook, is listed in `INTERNAL`;
 * the build fails for one that is not.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import {
  rolldown,
  type ChunkingContext,
  type CodeSplittingGroup,
  type OutputChunk,
  type OutputOptions,
  type Plugin,
} from "rolldown";
import { build as buildWithVite } from "vite";
import { ROOT, runCommand } from "./command.ts";
import { filesUnder } from "./source-files.ts";

/** What package.json exports. */
export const PUBLIC = ["index", "contract", "plugin-sdk/index", "testkit/index", "client/index"];
/** Modules that `bin/start.js`, a thread or a resolution hook loads by path. */
const INTERNAL = [
  "cli/main",
  "cli/engines/suite-process",
  "channels/email/mail-parser-worker",
  "config/schema-library",
  "cli/server/blocking-worker",
  "engines/lossless/encoder/encoder-worker",
  "engines/lossless/store/worker",
  "platform/json/json-worker",
  "plugin/compat/sdk",
  "plugin/compat/sdk-required",
  "plugin/compat/sdk-stubs",
  "stores/postgres/worker",
];

/** The one module that is bundled with the package it imports; its comment has the reason. */
const SCHEMA_LIBRARY = join(ROOT, "src/config/schema-library.ts");

/** Packages that every command loads. They are bundled, so that a start reads fewer files. */
const BUNDLED: ReadonlySet<string> = new Set(["commander"]);

/** The modules that a turn loads, in order; see `startGroups`. There are few groups, since a file costs about a millisecond. */
const START: Record<string, readonly string[]> = {
  version: ["cli/main"],
  contract: ["contract", "plugin-sdk/index", "plugin/compat/sdk"],
  command: ["cli/cli-process", "cli/run/run-work", "server/server-address"],
  host: ["app", "turn/turn", "engines/lossless/lossless-engine"],
};

const OWN_URL = "import.meta.url";
const MARK = /__OWN_URL__\("([^"]+)"\)/g;

/** Builds `dist/`. Returns the number of JavaScript files. Throws when a compiler fails or an entry is missing. */
export async function build(): Promise<number> {
  rmSync(join(ROOT, "dist"), { recursive: true, force: true });
  await Promise.all([declare(), bundle(true), buildInspector(join(ROOT, "dist/inspector"))]);
  mustExist("dist/inspector/index.html", "the server serves it");
  for (const entry of PUBLIC) mustExist(`dist/${entry}.d.ts`, "package.json exports it");
  for (const entry of [...PUBLIC, ...INTERNAL]) mustExist(`dist/${entry}.js`, "it is an entry");
  for (const file of filesUnder(ROOT, "src", ".ts")) {
    for (const beside of besides(readFileSync(join(ROOT, file), "utf8"))) {
      const built = posix.join(dirname(file).replace(/^src/, "dist"), `${beside}.js`);
      mustExist(built, `${file} reaches it by its path; name it among INTERNAL in scripts/build.ts`);
    }
  }
  return filesUnder(ROOT, "dist", ".js").length;
}

/** Names of the modules that a source reaches as `new URL("./name…", import.meta.url)`. */
function besides(source: string): string[] {
  return [...source.matchAll(/new URL\(\s*["'`]\.\/([\w/-]+)/g)].map(([, name = ""]) => name);
}

function mustExist(file: string, why: string): void {
  if (!existsSync(join(ROOT, file))) throw new Error(`${file} was not built; ${why}.`);
}

async function declare(): Promise<void> {
  const result = await runCommand(join(ROOT, "node_modules/.bin/tsc"), ["-p", "tsconfig.build.json"]);
  if (result.code !== 0) throw new Error(`tsc failed:\n${result.stdout}${result.stderr}`);
}

/** Builds the inspector's page into a folder, which is emptied. */
export async function buildInspector(outDir: string): Promise<void> {
  const configFile = join(ROOT, "packages/inspector/vite.config.ts");
  await buildWithVite({ configFile, build: { outDir } });
}

/** The entry that browsers load: a build of its own, as the others share code that imports Node.js. */
const CLIENT = "client/index";

/** The thread that starts in a turn: a build of its own, so that it does not divide the code of a turn. */
const STORE = "engines/lossless/store/worker";

/** Bundles the JavaScript files; optionally writes them to disk. */
export async function bundle(write: boolean): Promise<OutputChunk[]> {
  const others = [...PUBLIC, ...INTERNAL].filter((entry) => entry !== CLIENT && entry !== STORE);
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
): Promise<OutputChunk[]> {
  const built = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(entries.map((entry) => [entry, `src/${entry}.ts`])),
    platform,
    external: (id, importer) => /^[^./]/.test(id) && !BUNDLED.has(id) && importer !== SCHEMA_LIBRARY,
    plugins: [keepOwnUrls],
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
    return output.filter((file) => file.type === "chunk");
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
  return Object.keys(START).map((_, index) => ({
    debugName: `shared by ${index + 1}`,
    priority: index + 1,
    name: (id, context) => {
      const parts = context.getModuleInfo(id)?.isEntry ? [] : partsOf(id, context);
      return parts.length === index + 1 ? parts.join("-") : null;
    },
  }));
}

/** These modules and all that they import statically, at any depth. */
function reachable(roots: readonly string[], context: ChunkingContext): ReadonlySet<string> {
  const seen = new Set(roots.map((root) => join(ROOT, "src", `${root}.ts`)));
  for (const id of seen)
    for (const imported of context.getModuleInfo(id)?.importedIds ?? []) seen.add(imported);
  return seen;
}

/** Keeps each module's own `import.meta.url`, which would otherwise be the URL of the shared file. */
const keepOwnUrls: Plugin = {
  name: "own-urls",
  transform: {
    filter: { code: /import\.meta\./ },
    handler(code, id) {
      if (!id.startsWith(join(ROOT, "src/"))) return null;
      const own = posix.relative(join(ROOT, "src"), id).replace(/\.ts$/, ".js");
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

if (import.meta.main) {
  try {
    console.log(`dist: ${await build()} files`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
