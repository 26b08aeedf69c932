/**
 * `npm run package:check`: packs the package, checks its entries, installs it with its production dependencies in
 * an empty folder and runs it there: a turn, and the parts of the build that are loaded by path. Fails above the size
 * limit.
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

/** Disk usage of a folder, bytes. */
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

/** Installs from npm's cache, and from the network what the cache lacks. */
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
    console.log(`ok   build: ${await build()} files`);
    const tarball = await pack(folder);
    await must("publint", bin("publint"), ["run", tarball, "--strict"], {});
    await must("attw", bin("attw"), [tarball, "--profile", "esm-only", "--no-emoji"], {});
    const installed = join(folder, "installed");
    await install(tarball, installed);
    const launcher = join(installed, "node_modules/pagurus/bin/pagurus.js");
    const env = { ...process.env, PAGURUS_HOME: join(folder, "home"), XDG_CACHE_HOME: join(folder, "cache") };
    const printed = await must("pagurus --version", process.execPath, [launcher, "--version"], {
      cwd: folder,
      env,
    });
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
    assert.equal(
      printed.trim(),
      version,
      "The installed command line names another version than package.json.",
    );
    await must("pagurus --help", process.execPath, [launcher, "--help"], { cwd: folder, env });
    await importEntries(installed);
    await useCommands(launcher, installed, env);
    const size = diskBytes(join(installed, "node_modules")) / MB;
    console.log(`     installed with its dependencies: ${size.toFixed(1)} MB (limit ${LIMIT_MB})`);
    assert.ok(size <= LIMIT_MB, `The install takes ${size.toFixed(1)} MB; the limit is ${LIMIT_MB}.`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Checks that the public entries load as in a user's program, and share their modules. */
async function importEntries(installed: string): Promise<void> {
  const program = `
import assert from "node:assert/strict";
import * as host from "pagurus";
import * as contract from "pagurus/contract";
import * as sdk from "pagurus/plugin-sdk";
import { runEngineSuite } from "pagurus/testkit";
assert.equal(host.PagurusError, contract.PagurusError);
assert.equal(host.PagurusError, sdk.PagurusError);
assert.equal(host.PagurusError.name, "PagurusError");
assert.equal(typeof runEngineSuite, "function");
await assert.rejects(host.createPagurus({ config: { plugins: 1 } }), contract.PagurusError);
`;
  writeFileSync(join(installed, "entries.mjs"), program);
  await must("import of each public entry, one PagurusError", process.execPath, ["entries.mjs"], {
    cwd: installed,
  });
}

/** A linked plugin whose command checks that it got the host's own classes and helpers. */
function writePlugin(folder: string, id: string, extra: string): string {
  mkdirSync(folder);
  const manifest = { id, configSchema: { type: "object" } };
  writeFileSync(join(folder, "openclaw.plugin.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const source = `
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";
import { delegateCompactionToRuntime } from "openclaw/plugin-sdk";
import { PagurusError } from "pagurus/contract";
interface Api { registerCommand(command: object): void }
${extra}
const handler = () => {
  if (typeof delegateCompactionToRuntime !== "function") throw new Error("no helper");
  throw new PagurusError("usage_invalid", "${id} is here.");
};
export default definePluginEntry({
  id: "${id}",
  name: "${id}",
  register: (api: Api) => api.registerCommand({ name: "${id}", description: "Says that it is here.", handler }),
});
`;
  writeFileSync(join(folder, "index.ts"), source);
  return folder;
}

/** Runs what loads a file of the build by its path: the thread of the lossless store, the import names of OpenClaw. */
async function useCommands(launcher: string, installed: string, env: NodeJS.ProcessEnv): Promise<void> {
  const home = env["PAGURUS_HOME"] ?? "";
  const paths = [
    writePlugin(join(installed, "typed"), "typed", ""),
    // Node cannot run this one by itself.
    writePlugin(join(installed, "enumed"), "enumed", "export enum Kind { One }"),
  ];
  const config = {
    agents: { defaults: { model: "offline/extract" } },
    plugins: {
      slots: { contextEngine: "lossless" },
      load: { paths },
      entries: { typed: { enabled: true }, enumed: { enabled: true } },
    },
  };
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
  const pagurus = (title: string, ...args: string[]): Promise<string> =>
    must(title, process.execPath, [launcher, ...args], { cwd: installed, env, deadlineMs: 60_000 });
  await pagurus("a turn with plugins and lossless", "run", "How is the tide?");
  const stored = await pagurus("the thread of the lossless store", "lossless", "verify", "--json");
  assert.match(stored, /"ok": true/);
  const example = join(ROOT, "examples/newest-turns");
  assert.match(await pagurus("pagurus engines test", "engines", "test", example), / 0 failed/);
  const check = `
import assert from "node:assert/strict";
import { createPagurus, PagurusError } from "pagurus";
const pagurus = await createPagurus();
for (const name of ["typed", "enumed"]) {
  const thrown = await pagurus.command({ name }).catch((error) => error);
  assert.ok(thrown instanceof PagurusError, String(thrown));
  assert.equal(thrown.code, "usage_invalid", thrown.message);
}
await pagurus.close();
`;
  writeFileSync(join(installed, "commands.mjs"), check);
  await must("commands of TypeScript plugins for OpenClaw", process.execPath, ["commands.mjs"], {
    cwd: installed,
    env,
  });
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
