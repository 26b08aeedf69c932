/**
 * `npm run package:check`: packs the package, checks its entries, installs it with its production dependencies in
 * an empty folder and runs it there. Fails above the size limit.
 */
import assert from "node:assert/strict";
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "./build.ts";
import { ROOT, runCommand, type CommandOptions } from "./command.ts";

const LIMIT_MB = 80;
const MB = 1024 * 1024;

async function must(
  title: string,
  command: string,
  args: string[],
  options: CommandOptions,
): Promise<string> {
  const result = await runCommand(command, args, options);
  assert.equal(result.code, 0, `${title} failed:\n${result.stdout}${result.stderr}`);
  console.log(`ok   ${title}`);
  return result.stdout;
}

/** Bytes of the files under a folder, as they take up the disk's blocks. */
function diskBytes(folder: string): number {
  let total = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    total += lstatSync(join(entry.parentPath, entry.name)).blocks * 512;
  }
  return total;
}

async function pack(into: string): Promise<string> {
  const text = await must(
    "npm pack",
    "npm",
    ["pack", "--json", "--ignore-scripts", "--pack-destination", into],
    {},
  );
  const packed = JSON.parse(text) as { filename: string; size: number; entryCount: number }[];
  const [first] = Object.values(packed);
  assert.ok(first, "npm pack made no tarball.");
  console.log(`     ${first.filename}: ${(first.size / MB).toFixed(2)} MB, ${first.entryCount} files`);
  return join(into, first.filename);
}

/** Installs from the cache where it can; the network is asked for what is missing there. */
async function install(tarball: string, folder: string): Promise<void> {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "installed", private: true }));
  const args = [
    "install",
    "--prefer-offline",
    "--ignore-scripts",
    "--omit=dev",
    "--no-audit",
    "--no-fund",
    tarball,
  ];
  await must("npm install of the tarball", "npm", args, { cwd: folder, deadlineMs: 5 * 60_000 });
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-package-"));
  const bin = (name: string): string => join(ROOT, "node_modules/.bin", name);
  try {
    console.log(`ok   build: ${await build()} modules`);
    const tarball = await pack(folder);
    await must("publint", bin("publint"), ["run", tarball, "--strict"], {});
    await must("attw", bin("attw"), [tarball, "--profile", "esm-only", "--no-emoji"], {});
    const installed = join(folder, "installed");
    await install(tarball, installed);
    const launcher = join(installed, "node_modules/pagurus/bin/pagurus.js");
    const env = { ...process.env, PAGURUS_HOME: join(folder, "home"), XDG_CACHE_HOME: join(folder, "cache") };
    const said = await must("pagurus --version", process.execPath, [launcher, "--version"], {
      cwd: folder,
      env,
    });
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
    assert.equal(said.trim(), version, "The installed command line names another version than package.json.");
    await must("pagurus --help", process.execPath, [launcher, "--help"], { cwd: folder, env });
    await importEntries(installed);
    const size = diskBytes(join(installed, "node_modules")) / MB;
    console.log(`     installed with its dependencies: ${size.toFixed(1)} MB (limit ${LIMIT_MB})`);
    assert.ok(size <= LIMIT_MB, `The install takes ${size.toFixed(1)} MB; the limit is ${LIMIT_MB}.`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The public entries load from outside, as a user's program would load them. */
async function importEntries(installed: string): Promise<void> {
  const program = ["pagurus", "pagurus/contract", "pagurus/plugin-sdk", "pagurus/testkit"]
    .map((entry) => `await import(${JSON.stringify(entry)});`)
    .join("\n");
  writeFileSync(join(installed, "entries.mjs"), program);
  await must("import of each public entry", process.execPath, ["entries.mjs"], { cwd: installed });
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
