import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { Keeper } from "../../packages/keeper/src/keeper.ts";
import { keeperPlace, lockKeeper } from "../../packages/keeper/src/keeper-place.ts";
import { SYSTEM_CLOCK } from "../../packages/core/src/data/clock.ts";
import { fakeCli } from "../cli/fake-cli.ts";
import { until } from "../runner/until.ts";
import { claudeLine, KeptHome, SESSION } from "./kept-home.ts";

const FILE = `.claude/projects/-work/${SESSION}.jsonl`;

/** A home whose keeper is only that of the commands. */
function closedHome(): KeptHome {
  const home = new KeptHome();
  home.keeper.close();
  return home;
}

function commands(
  home: KeptHome,
): (...args: string[]) => Promise<{ code: number; out: string; err: string }> {
  return async (...args) => {
    const cli = {
      ...fakeCli({ env: { HOME: home.folder, PAGURUS_HOME: home.path("pagurus") } }),
      cwd: home.folder,
    };
    const code = await execute(["keep", ...args], cli);
    return { code, out: cli.out(), err: cli.err() };
  };
}

test("a removed conversation is reported, shown in the status, and restored", async () => {
  const home = closedHome();
  try {
    const keep = commands(home);
    const path = home.write(FILE, claudeLine(0, "hello") + claudeLine(1, "hi"));
    assert.match((await keep("once")).out, /^1 file looked at, \d+ B new\.$/m);
    rmSync(path);
    assert.match(
      (await keep("once")).out,
      /Claude Code removed .*jsonl: \d+ B are no longer there, and are kept here\./,
    );
    const { out } = await keep("status");
    assert.match(out, /Claude Code +1 +1/);
    assert.match(out, /removed/);
    const { code } = await keep("restore", path, "--output", "back.jsonl");
    assert.equal(code, 0);
    assert.equal(readFileSync(home.path("back.jsonl"), "utf8"), claudeLine(0, "hello") + claudeLine(1, "hi"));
  } finally {
    rmSync(home.folder, { recursive: true, force: true });
  }
});

test("an export has every version of a file, and says which is which", async () => {
  const home = closedHome();
  try {
    const keep = commands(home);
    const path = home.write(FILE, claudeLine(0, "first"));
    await keep("once");
    writeFileSync(path, claudeLine(0, "second, and longer"));
    await keep("once");
    await keep("export", "all");
    const manifest = readFileSync(home.path("all/manifest.jsonl"), "utf8").trimEnd().split("\n");
    const entries = manifest.map((line) => JSON.parse(line) as { file?: string; event?: string });
    assert.deepEqual(
      entries.map(({ file, event }) =>
        file === undefined ? event : readFileSync(home.path(`all/${file}`), "utf8"),
      ),
      [claudeLine(0, "first"), claudeLine(0, "second, and longer"), "rewritten"],
    );
  } finally {
    rmSync(home.folder, { recursive: true, force: true });
  }
});

test("a kept conversation is listed, found by its words, and opens at them", async () => {
  const home = closedHome();
  try {
    const keep = commands(home);
    home.write(FILE, Array.from({ length: 9 }, (_, at) => claudeLine(at, `word number${at}`)).join(""));
    await keep("once");
    assert.match((await keep("list")).out, /1 {2}Claude Code {2}2026-05-01 10:00 +9 +\/work\/project/);
    const { out } = await keep("search", "number4");
    const [, conversation = "", record = ""] = /keep show (\d+) --at (\d+)/.exec(out) ?? [];
    const shown = (await keep("show", conversation, "--at", record, "--around", "1")).out;
    assert.match(shown, /number3[\s\S]*▶ user[\s\S]*number4[\s\S]*number5/);
    assert.doesNotMatch(shown, /number2|number6/);
    assert.equal((await keep("search", "nothing")).code, 1);
    assert.match((await keep("show", "unknown")).err, /No kept conversation is named "unknown"/);
  } finally {
    rmSync(home.folder, { recursive: true, force: true });
  }
});

test("the inventory names each kind of file, and why it is not kept", async () => {
  const home = closedHome();
  try {
    home.write(FILE, claudeLine(0, "hello"));
    home.write(".claude/.credentials.json", "{}");
    home.write(".claude/plugins/a/b/c.js", "");
    const { out } = await commands(home)("files", "claude-code");
    assert.match(out, /kept +1 +a conversation/);
    assert.match(out, /not kept +1 +a login/);
    assert.match(out, /not kept +1 +made again by the program/);
    assert.match(
      (await commands(home)("files", "nothing")).err,
      /No program is named "nothing"; take claude-code,/,
    );
  } finally {
    rmSync(home.folder, { recursive: true, force: true });
  }
});

test("while it watches, a new line is kept and a deletion is reported", async () => {
  const home = closedHome();
  try {
    const path = home.write(FILE, claudeLine(0, "hello"));
    const cli = {
      ...fakeCli({ env: { HOME: home.folder, PAGURUS_HOME: home.path("pagurus") } }),
      cwd: home.folder,
    };
    const ended = execute(["keep"], cli);
    await until(() => cli.err().includes("watching"));
    const other = home.write(
      ".claude/projects/-new/22222222-1111-4111-8111-111111111111.jsonl",
      claudeLine(0, "new"),
    );
    await until(async () => (await commands(home)("status")).out.includes("Claude Code      2"));
    rmSync(path);
    await until(() => cli.out().includes(`removed ${path}`));
    assert.match((await commands(home)("once")).err, /Process \d+ keeps already/);
    cli.interrupt();
    assert.equal(await ended, 0);
    assert.ok(other.endsWith(".jsonl"));
  } finally {
    rmSync(home.folder, { recursive: true, force: true });
  }
});

test("a second keeper of a home is refused while the first one runs", () => {
  const home = closedHome();
  try {
    const lock = lockKeeper(home.path("pagurus"));
    assert.throws(() => lockKeeper(home.path("pagurus")), { code: "session_locked" });
    lock.release();
    lockKeeper(home.path("pagurus")).release();
    const place = keeperPlace(home.path("pagurus"));
    Keeper.open({ place, env: { HOME: home.folder }, clock: SYSTEM_CLOCK }).close();
  } finally {
    rmSync(home.folder, { recursive: true, force: true });
  }
});
