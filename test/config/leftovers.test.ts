import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createPagurus } from "../../packages/app/src/app.ts";
import { setConfigValue } from "../../packages/core/src/config/edit.ts";

/** A home where a `config set` was killed before it renamed its file, with other files in the folder. */
function killedHome(t: TestContext): { home: string; left: () => string[] } {
  const home = mkdtempSync(join(tmpdir(), "pagurus-config-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const gone = spawnSync(process.execPath, ["-e", ""]).pid;
  const old = `.pagurus.json.${process.ppid}.tmp`;
  for (const name of [`.pagurus.json.${gone}.tmp`, old, `.other.json.${gone}.tmp`, ".pagurus.json.notes"])
    writeFileSync(join(home, name), "sk-secret");
  const hourAgo = Date.now() / 1_000 - 3_600;
  utimesSync(join(home, old), hourAgo, hourAgo);
  const left = (): string[] =>
    readdirSync(home)
      .filter((name) => name.startsWith(".") && name !== ".config-validated.json")
      .sort();
  return { home, left };
}

test("the next change of the configuration removes what a killed one left (finding F13)", (t) => {
  const { home, left } = killedHome(t);
  setConfigValue(join(home, "pagurus.json"), ["logging", "level"], "debug");
  assert.deepEqual(left().length, 2, left().join());
  assert.ok(left().includes(".pagurus.json.notes"));
});

test("the next start removes what a killed change of the configuration left (finding F13)", async (t) => {
  const { home, left } = killedHome(t);
  const pagurus = await createPagurus({ home, env: {}, config: {} });
  await pagurus.close();
  assert.ok(
    !left().some((name) => name.startsWith(".pagurus.json.") && name.endsWith(".tmp")),
    left().join(),
  );
});

test("a linked configuration is swept where it is kept, and a writer that lives keeps its file (finding F13)", (t) => {
  const { home, left } = killedHome(t);
  const linking = join(home, "linking");
  mkdirSync(linking);
  writeFileSync(join(home, "pagurus.json"), "{}");
  symlinkSync(join(home, "pagurus.json"), join(linking, "pagurus.json"));
  const living = `.pagurus.json.${process.ppid}.tmp`;
  writeFileSync(join(home, living), "sk-secret");
  setConfigValue(join(linking, "pagurus.json"), ["logging", "level"], "debug");
  assert.deepEqual(
    left().filter((name) => name.startsWith(".pagurus.json.") && name.endsWith(".tmp")),
    [living],
  );
});
