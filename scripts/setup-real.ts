/**
 * `npm run setup:real`: installs the harness programs that `test/real/package.json` pins, beside it, from the npm
 * registry alone, and OpenClaw's types (`setup-openclaw.ts`), and prints their versions. Does nothing where they are installed already.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runCommand } from "./command.ts";
import { setUpOpenClaw } from "./setup-openclaw.ts";

const FOLDER = join(ROOT, "test/real");
const DEADLINE_MS = 10 * 60_000;
const VERSION_DEADLINE_MS = 30_000;

function versionIn(manifest: string): string | undefined {
  if (!existsSync(manifest)) return undefined;
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version?: string }).version;
}

function pins(): [name: string, version: string][] {
  const manifest = JSON.parse(readFileSync(join(FOLDER, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  return Object.entries(manifest.dependencies);
}

function missing(): string[] {
  return pins()
    .filter(([name, version]) => versionIn(join(FOLDER, "node_modules", name, "package.json")) !== version)
    .map(([name, version]) => `${name} ${version}`);
}

/** Programs with an optional package for the platform, which npm can leave out without failing. */
const NATIVE_PROGRAMS = [
  "node_modules/.bin/codex",
  `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
  `node_modules/@factory/cli-${process.platform}-${process.arch}/bin/droid`,
];

/** The installed program's `--version`; undefined when it does not run. */
async function programVersion(path: string): Promise<string | undefined> {
  const program = join(FOLDER, path);
  if (!existsSync(program)) return undefined;
  const { code, stdout } = await runCommand(program, ["--version"], { deadlineMs: VERSION_DEADLINE_MS });
  return code === 0 ? stdout.trim() : undefined;
}

async function install(): Promise<void> {
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save"];
  // Not `npm ci`: a program names optional packages of other platforms that were never published, which the lock cannot have.
  const { code } = await runCommand("npm", ["install", ...flags], {
    cwd: FOLDER,
    output: "inherit",
    deadlineMs: DEADLINE_MS,
  });
  if (code !== 0) throw new Error(`npm install in test/real ended with code ${code}.`);
}

async function nativeVersions(): Promise<(string | undefined)[]> {
  return await Promise.all(NATIVE_PROGRAMS.map(programVersion));
}

async function main(): Promise<void> {
  if (missing().length > 0 || (await nativeVersions()).includes(undefined)) await install();
  const still = missing();
  if (still.length > 0) throw new Error(`npm install in test/real did not install ${still.join(", ")}.`);
  const versions = await nativeVersions();
  const dead = NATIVE_PROGRAMS.filter((_, index) => versions[index] === undefined);
  if (dead.length > 0) {
    throw new Error(`${dead.join(", ")} does not run here; has npm left out its optional packages?`);
  }
  for (const [name, pinned] of pins()) console.log(`${name} ${pinned}`);
  for (const version of versions) console.log(version);
  console.log(`openclaw ${await setUpOpenClaw()}, types only`);
}

try {
  await main();
} catch (error) {
  console.error(`setup:real: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
