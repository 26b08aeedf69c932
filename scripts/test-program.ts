/**
 * The program that `npm test` starts as a process: the build of this checkout, as users have it. It starts faster than the sources,
 * and tests start it some hundred times.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { bundleFiles } from "./build.ts";
import { ROOT } from "./command.ts";

/** Below the checkout's packages, which the program imports. */
const PROGRAMS = join(ROOT, "node_modules/.cache/tests-program");
const KEPT_MS = 24 * 3_600_000;
const BESIDE = [
  "bin/pagurus.js",
  "bin/start.js",
  "bin/thin.js",
  "bin/environment.js",
  "bin/package.json",
  "package.json",
];
/** What the program reads of the package, and what the last whole build made of the inspector. */
const LINKED = ["docs", "dist/inspector"];

/** Contents of its files by path. */
function filesOf(bundled: Awaited<ReturnType<typeof bundleFiles>>): [path: string, content: string][] {
  const built = bundled.map((file): [string, string] => [
    `dist/${file.fileName}`,
    file.type === "chunk" ? file.code : Buffer.from(file.source).toString("utf8"),
  ]);
  const beside = BESIDE.map((path): [string, string] => [path, readFileSync(join(ROOT, path), "utf8")]);
  return [...built, ...beside].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

function write(folder: string, files: readonly (readonly [string, string])[]): void {
  for (const [path, content] of files) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  for (const name of LINKED) symlinkSync(join(ROOT, name), join(folder, name));
}

function prune(now: number): void {
  for (const name of readdirSync(PROGRAMS)) {
    const folder = join(PROGRAMS, name);
    if (now - statSync(folder).mtimeMs > KEPT_MS) rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Builds the program unless it is there. Returns its folder, which is named by its content: another run of the tests
 * may use it, or a different one, at the same time. Throws when a source cannot be compiled.
 */
export async function buildTestProgram(): Promise<string> {
  const files = filesOf(await bundleFiles(false));
  const name = createHash("sha256").update(JSON.stringify(files)).digest("hex").slice(0, 16);
  const folder = join(PROGRAMS, name);
  if (!existsSync(folder)) {
    const temporary = `${folder}.${process.pid}`;
    write(temporary, files);
    try {
      renameSync(temporary, folder);
    } catch (error) {
      // Another run was faster.
      rmSync(temporary, { recursive: true, force: true });
      if (!existsSync(folder)) throw error;
    }
  }
  const now = Date.now();
  utimesSync(folder, now / 1000, now / 1000);
  prune(now);
  return folder;
}
