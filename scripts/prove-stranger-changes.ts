/**
 * `node scripts/prove-stranger-changes.ts [--only quirk,…]`: changes of a stranger by CONTRIBUTING.md alone, each in a fresh clone that is
 * thrown away. The complete change passes types, lint and its tests, and works. With one place forgotten, types or the lint fail
 * and name it. `--short`: only the steps of the lint that the forgotten places need, for a complete change and one forgotten place of each.
 */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT, runCommand, type CommandResult } from "./command.ts";
import type { Change, Place, Run } from "./stranger/change.ts";
import { CHANNEL_CHANGE } from "./stranger/channel-change.ts";
import { COMMAND_CHANGE } from "./stranger/command-change.ts";
import { QUIRK_CHANGE } from "./stranger/quirk-change.ts";
import { RECEIPT_CHANGE } from "./stranger/receipt-change.ts";
import { RUNTIME_CHANGE } from "./stranger/runtime-change.ts";
import { SLASH_CHANGE } from "./stranger/slash-change.ts";

const CHANGES: Record<string, Change> = {
  quirk: QUIRK_CHANGE,
  command: COMMAND_CHANGE,
  runtime: RUNTIME_CHANGE,
  slash: SLASH_CHANGE,
  receipt: RECEIPT_CHANGE,
  channel: CHANNEL_CHANGE,
};

/** Of the short form. */
const SHORT = ["slash", "receipt", "channel"];

const { values } = parseArgs({
  options: { only: { type: "string" }, short: { type: "boolean", default: false } },
});
const isShort = values.short;

let passed = 0;
let failed = 0;

function report(title: string, isRight: boolean, detail = ""): void {
  if (isRight) passed += 1;
  else failed += 1;
  console.log(`${isRight ? "ok  " : "FAIL"} ${title}`);
  if (!isRight) console.log(detail.slice(-3_000).replace(/^/gm, "       "));
}

async function git(root: string, ...args: string[]): Promise<void> {
  const { code, stderr } = await runCommand("git", args, { cwd: root });
  if (code !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
}

/** HEAD, with this checkout's packages as hard links. */
async function clone(folder: string): Promise<string> {
  const root = join(folder, "pagurus");
  await git(folder, "clone", "--quiet", "--no-hardlinks", ROOT, root);
  const modules = join(ROOT, "node_modules");
  const linked = await runCommand("cp", ["-al", modules, join(root, "node_modules")]);
  if (linked.code !== 0) {
    rmSync(join(root, "node_modules"), { recursive: true, force: true });
    cpSync(modules, join(root, "node_modules"), { recursive: true, verbatimSymlinks: true });
  }
  rmSync(join(root, "node_modules/.cache"), { recursive: true, force: true });
  return root;
}

function node(root: string, args: readonly string[]): Promise<CommandResult> {
  return runCommand(process.execPath, args, { cwd: root, env: toolEnv(root) });
}

/** As `npm run` sets it: programs of packages run on the Node.js of the packages. */
function toolEnv(root: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: `${join(root, "node_modules/.bin")}${delimiter}${process.env["PATH"] ?? ""}`,
  };
}

function check(root: string, by: string): Promise<CommandResult> {
  if (by !== "types") return node(root, ["scripts/lint.ts", ...(by === "lint" ? [] : ["--only", by])]);
  const tsc = join(root, "node_modules/.bin/tsc");
  return runCommand(
    tsc,
    ["-p", "tsconfig.json", "--incremental", "--tsBuildInfoFile", "node_modules/.cache/types.tsbuildinfo"],
    { cwd: root },
  );
}

/** The clone as it was made, then the places but one. */
async function apply(root: string, { places }: Change, forgotten?: Place): Promise<void> {
  await git(root, "checkout", "--quiet", ".");
  await git(root, "clean", "-fdq");
  for (const place of places) if (place !== forgotten) await place.make(root);
  if (isShort) return;
  const { code, stdout, stderr } = await runCommand(join(root, "node_modules/.bin/oxfmt"), ["--write", "."], {
    cwd: root,
  });
  if (code !== 0) throw new Error(stdout + stderr);
}

/** Steps of the lint that take seconds. */
const QUICK = ["places", "api", "configuration"];

async function proveQuick(root: string, change: Change): Promise<void> {
  await apply(root, change);
  const { code, stdout, stderr } = await check(root, QUICK.join());
  report(`${change.title}: ${QUICK.join(", ")} pass`, code === 0, stdout + stderr);
}

async function proveComplete(root: string, folder: string, change: Change): Promise<void> {
  await apply(root, change);
  for (const by of ["types", "lint"]) {
    const { code, stdout, stderr } = await check(root, by);
    report(`${change.title}: ${by} pass`, code === 0, stdout + stderr);
  }
  const tests = await node(root, ["scripts/test.ts", ...change.tests]);
  report(
    `${change.title}: tests pass (${change.tests.join(", ")})`,
    tests.code === 0,
    tests.stdout + tests.stderr,
  );
  const home = mkdtempSync(join(folder, "home-"));
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    PAGURUS_HOME: join(home, "home"),
    PAGURUS_NO_PROBE: "1",
  };
  const runNode = (args: readonly string[], more?: Record<string, string>): Promise<CommandResult> =>
    runCommand(process.execPath, args, { cwd: home, env: { ...env, ...more } });
  const run: Run = Object.assign(
    (args: readonly string[], more?: Record<string, string>) =>
      runNode([join(root, "bin/pagurus.js"), ...args], more),
    { node: runNode, folder: home },
  );
  try {
    report(`${change.title}: works: ${await change.use(root, run)}`, true);
  } catch (error) {
    report(`${change.title}: works`, false, String(error));
  }
}

async function proveForgotten(root: string, change: Change, place: Place): Promise<void> {
  const title = `${change.title} without ${place.file}`;
  if (!place.found) {
    console.log(`--   ${title}: no check (${place.unchecked ?? ""})`);
    return;
  }
  const { by, message } = place.found;
  await apply(root, change, place);
  const { code, stdout, stderr } = await check(root, by);
  const said = stdout + stderr;
  const line = said.split("\n").find((each) => message.test(each)) ?? said.slice(0, 300);
  report(`${title}: ${by} fails: ${line.trim()}`, code !== 0 && message.test(said), said);
}

async function prove(name: string): Promise<void> {
  const change = CHANGES[name];
  if (!change) throw new Error(`No change ${name}; there are ${Object.keys(CHANGES).join(", ")}.`);
  const folder = mkdtempSync(join(tmpdir(), "pagurus-stranger-"));
  try {
    const root = await clone(folder);
    const files = new Set(change.places.map(({ file }) => file)).size;
    console.log(
      `-- ${change.title}: ${change.places.length} places in ${files} files, beside CONTRIBUTING.md`,
    );
    if (isShort) await proveQuick(root, change);
    else await proveComplete(root, folder, change);
    const looked = change.places.filter(({ found }) => !isShort || (found && QUICK.includes(found.by)));
    for (const place of looked) await proveForgotten(root, change, place);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

for (const name of values.only?.split(",") ?? (isShort ? SHORT : Object.keys(CHANGES))) await prove(name);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
