/** Deletion from the archive of the keeper. */
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { Archive } from "../../packages/keeper/src/archive/archive.ts";
import { forgetFiles } from "../../packages/keeper/src/archive/forget.ts";
import { fakeCli } from "../cli/fake-cli.ts";
import { claudeLine, KeptHome, SESSION } from "./kept-home.ts";

const OTHER = "22222222-2222-4222-8222-222222222222";
const SECRET = "the falcon lands at midnight";
const FILE = `.claude/projects/-work/${SESSION}.jsonl`;
const OTHER_FILE = `.claude/projects/-work/${OTHER}.jsonl`;
const LONG = "words of the harbour ".repeat(60);

function lines(text: string, session = SESSION): string {
  return [0, 1, 2]
    .map((nth) => claudeLine(nth, `${text} ${nth} ${LONG}`))
    .join("")
    .replaceAll(SESSION, session);
}

/** Two conversations that share much, and a side file of the first. */
async function twoConversations(): Promise<KeptHome> {
  const home = new KeptHome();
  home.write(FILE, lines(SECRET));
  home.write(OTHER_FILE, lines("the gull sleeps", OTHER));
  home.write(`.claude/projects/-work/${SESSION}/tool-results/b1.txt`, `${SECRET} in a result`);
  await home.keeper.pass();
  home.keeper.close();
  return home;
}

async function keep(home: KeptHome, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const env = { HOME: home.folder, PAGURUS_HOME: home.path("pagurus") };
  const cli = { ...fakeCli({ env }), cwd: home.folder };
  return { code: await execute(["keep", ...args], cli), out: cli.out(), err: cli.err() };
}

/** Every byte of the archive, with its packs uncompressed. */
function allOf(home: KeptHome): string {
  const folder = home.path("pagurus/keeper");
  const archive = Archive.open(folder);
  const blocks = archive.index
    .all<{ hash: Uint8Array }>("SELECT hash FROM blocks")
    .map(({ hash }) => archive.block(Buffer.from(hash)).toString("utf8"));
  archive.close();
  // SQLite removes its own files when it closes.
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
  return [...files.map((path) => readFileSync(path, "latin1")), ...blocks].join("\n");
}

test("a conversation that is deleted is nowhere in the archive, and others are as they were", async () => {
  const home = await twoConversations();
  try {
    const listed = await keep(home, "forget", SESSION);
    assert.match(listed.out, /Would delete 1 conversation in 2 files from the archive; --yes does\./);
    assert.ok(allOf(home).includes("falcon"));
    const { code, out, err } = await keep(home, "forget", SESSION, "--yes");
    assert.equal(code, 0, err);
    assert.match(out, /Deleted 1 conversation in 2 files/);
    const all = allOf(home);
    assert.ok(!all.includes("falcon") && !all.includes(SESSION));
    assert.notEqual((await keep(home, "search", "falcon")).code, 0);
    assert.match((await keep(home, "search", "gull")).out, /the gull sleeps/);
    const restored = await keep(home, "restore", home.path(OTHER_FILE), "--output", "back");
    assert.equal(restored.code, 0, restored.err);
    assert.equal(readFileSync(home.path("back"), "utf8"), lines("the gull sleeps", OTHER));
    assert.equal(readFileSync(home.path(FILE), "utf8"), lines(SECRET), "the program's file is as it was");
  } finally {
    rmSync(home.folder, { recursive: true, force: true });
  }
});

test("what was deleted is not kept again, also when it grows or moves; a new conversation is", async () => {
  const home = await twoConversations();
  try {
    await keep(home, "forget", "--words", "falcon", "--yes");
    writeFileSync(home.path(FILE), lines(SECRET) + claudeLine(3, "falcon again"));
    await keep(home, "once");
    mkdirSync(home.path(".claude/projects/-moved"), { recursive: true });
    renameSync(home.path(FILE), home.path(`.claude/projects/-moved/${SESSION}.jsonl`));
    home.write(`.claude/projects/-work/${SESSION.replaceAll("1", "3")}.jsonl`, lines("the heron", "3"));
    await keep(home, "once");
    assert.ok(!allOf(home).includes("falcon"));
    assert.match((await keep(home, "search", "heron")).out, /the heron/);
  } finally {
    rmSync(home.folder, { recursive: true, force: true });
  }
});

test("a choice by folder and time takes those whose last message is before it", async () => {
  const home = await twoConversations();
  try {
    assert.match((await keep(home, "forget", "--folder", "/elsewhere")).out, /Would delete 0 conversations/);
    assert.match((await keep(home, "forget", "--until", "2026-01-01")).out, /Would delete 0 conversations/);
    const all = await keep(home, "forget", "--folder", "/work", "--until", "2026-06-01", "--yes");
    assert.match(all.out, /Deleted 2 conversations in 3 files/);
    const none = await keep(home, "forget");
    assert.notEqual(none.code, 0);
    assert.match(none.err, /Name a conversation, or choose some/);
  } finally {
    rmSync(home.folder, { recursive: true, force: true });
  }
});

test("a deletion that was interrupted is ended by the next start, and its files are there before it and not after", async () => {
  const home = await twoConversations();
  const folder = home.path("pagurus/keeper");
  try {
    // Before the old packs were put aside: nothing is deleted.
    mkdirSync(join(folder, "packs.new"));
    let archive = Archive.open(folder);
    const file = archive.fileAt(home.path(FILE)) ?? assert.fail();
    archive.close();
    assert.ok(!existsSync(join(folder, "packs.new")));
    const before = readFileSync(join(folder, "packs/00000001.pack"));
    forgetFiles(folder, new Set([file.id]), 1);
    // As it is between the two renames.
    renameSync(join(folder, "packs"), join(folder, "packs.new"));
    mkdirSync(join(folder, "packs.old"));
    writeFileSync(join(folder, "packs.old/00000001.pack"), before);
    for (const end of ["", "-wal", "-shm"]) rmSync(join(folder, `index.db${end}`), { force: true });
    archive = Archive.open(folder);
    assert.equal(archive.fileAt(home.path(FILE)), undefined);
    assert.notEqual(archive.fileAt(home.path(OTHER_FILE)), undefined);
    archive.close();
    assert.ok(!existsSync(join(folder, "packs.old")));
  } finally {
    rmSync(home.folder, { recursive: true, force: true });
  }
});

test("a file with several conversations is deleted only with all of them", async () => {
  const home = new KeptHome();
  try {
    const db = new DatabaseSync(home.write(".local/share/opencode/opencode.db", ""));
    db.exec(`CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT, title TEXT);
      CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
      INSERT INTO session VALUES ('ses_one', '/work', 'one'), ('ses_two', '/work', 'two');
      INSERT INTO message VALUES ('msg_1', 'ses_one', 1, '{"role":"user","text":"the falcon flies"}'),
        ('msg_2', 'ses_two', 2, '{"role":"user","text":"the gull sleeps"}')`);
    db.close();
    await home.keeper.pass();
    home.keeper.close();
    const one = await keep(home, "forget", "ses_one", "--yes");
    assert.notEqual(one.code, 0);
    assert.match(
      one.err,
      /opencode\.db also has 1 other conversation \(\d+\), which would be deleted with it/,
    );
    assert.match((await keep(home, "search", "falcon")).out, /falcon/);
    const all = await keep(home, "forget", "--agent", "opencode", "--yes");
    assert.match(all.out, /Deleted 2 conversations in 1 file/, all.err);
    assert.ok(!allOf(home).includes("falcon"));
  } finally {
    rmSync(home.folder, { recursive: true, force: true });
  }
});
