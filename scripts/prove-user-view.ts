/**
 * `npm run prove -- house.10`: what a user of the last commit without packages had is still there: commands and their options, the published
 * modules and their declarations, the files of a home. A home that it made opens, continues and is sound. Additions are printed.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ROOT, runCommand, type CommandResult } from "./command.ts";
import { BEFORE_PACKAGES, withOldCheckout } from "./old-checkout.ts";
import { filesUnder } from "./source-files.ts";

let failed = 0;

function report(title: string, isRight: boolean, detail = ""): void {
  if (!isRight) failed += 1;
  console.log(`${isRight ? "ok  " : "FAIL"} ${title}${detail === "" ? "" : `: ${detail}`}`);
}

/** What was there and is gone fails; what was added is printed. */
function compare(title: string, before: readonly string[], now: readonly string[]): void {
  const gone = before.filter((each) => !now.includes(each));
  const added = now.filter((each) => !before.includes(each));
  const more =
    added.length === 0
      ? ""
      : `, and ${added.length} more (${added.slice(0, 5).join(", ")}${added.length > 5 ? ", …" : ""})`;
  report(
    title,
    gone.length === 0 && before.length > 0,
    gone.length === 0 ? `${before.length} of ${before.length}${more}` : `gone: ${gone.join(", ")}`,
  );
}

function pagurus(root: string, home: string, ...args: string[]): Promise<CommandResult> {
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    PAGURUS_HOME: join(home, "home"),
    PAGURUS_NO_PROBE: "1",
  };
  return runCommand(process.execPath, [join(root, "bin/pagurus.js"), ...args], { cwd: home, env });
}

async function helpOf(root: string, home: string, ...command: string[]): Promise<string> {
  return (await pagurus(root, home, ...command, "--help")).stdout;
}

function commandsIn(help: string): string[] {
  const [, list = ""] = /\nOptions:\n[^]*?\n\n([^]*)\nExamples:/.exec(help) ?? [];
  return [...list.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = ""]) => name);
}

/** For example `run --thinking`. */
async function optionsOf(root: string, home: string, commands: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const command of commands)
    for (const [option] of (await helpOf(root, home, command)).matchAll(/(?<=^ {2}(?:-\w, )?)--[a-z-]+/gm))
      found.push(`${command} ${option}`);
  return found;
}

interface Manifest {
  bin: Record<string, string>;
  exports: Record<string, unknown>;
}

function modulesOf(root: string): string[] {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  return [...Object.keys(manifest.exports), ...Object.entries(manifest.bin).map((each) => each.join(" "))];
}

/** Names that the snapshot of the contract declares. */
function declarationsOf(root: string): string[] {
  const files = filesUnder(resolve(root), "docs/api/contract", ".ts");
  const names = files.flatMap((file) =>
    [
      ...readFileSync(join(root, file), "utf8").matchAll(
        /^export (?:declare )?(?:abstract )?(?:interface|type|const|function|class) (\w+)/gm,
      ),
    ].map(([, name = ""]) => name),
  );
  return [...new Set(names)];
}

/** Two sessions, one for each engine. */
async function makeHome(root: string, home: string): Promise<void> {
  await pagurus(root, home, "run", "--session", "quay", "The tide is in.");
  await pagurus(root, home, "config", "set", "plugins.slots.contextEngine", "lossless");
  await pagurus(root, home, "run", "--session", "pier", "The boats are out.");
}

/** Paths in the home, with ids as `ID`. */
function layoutOf(home: string): string[] {
  const files = filesUnder(join(home, "home"), ".", "");
  return [...new Set(files.map((file) => file.replaceAll(/[0-9a-z]{16,}/g, "ID").replaceAll(/\d+/g, "N")))];
}

async function openHome(root: string, home: string): Promise<void> {
  const listed = await pagurus(root, home, "sessions", "list");
  report(
    "its sessions are listed",
    /^quay /m.test(listed.stdout) && /^pier /m.test(listed.stdout),
    listed.stderr.trim(),
  );
  for (const key of ["quay", "pier"]) {
    const { code, stderr } = await pagurus(root, home, "run", "--session", key, "And now?");
    report(`its session ${key} continues`, code === 0, code === 0 ? "" : stderr.trim());
  }
  const doctor = await pagurus(root, home, "doctor");
  report(
    "its home is sound",
    / 0 errors|^0 errors/m.test(doctor.stdout),
    doctor.stdout.trim().split("\n").at(-1),
  );
}

const folder = mkdtempSync(join(tmpdir(), "pagurus-view-"));
try {
  await withOldCheckout(BEFORE_PACKAGES, async (old) => {
    const [before = "", after = ""] = ["before", "after"].map((name) =>
      mkdtempSync(join(folder, `${name}-`)),
    );
    const commands = commandsIn(await helpOf(old, before));
    compare("commands", commands, commandsIn(await helpOf(ROOT, after)));
    compare("options", await optionsOf(old, before, commands), await optionsOf(ROOT, after, commands));
    compare("modules and programs", modulesOf(old), modulesOf(ROOT));
    compare("declarations of the contract", declarationsOf(old), declarationsOf(ROOT));
    await makeHome(old, before);
    await makeHome(ROOT, after);
    compare("files of a home", layoutOf(before), layoutOf(after));
    if (!existsSync(join(before, "home"))) throw new Error("The old commit made no home.");
    await openHome(ROOT, before);
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(failed === 0 ? "all as before" : `${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
