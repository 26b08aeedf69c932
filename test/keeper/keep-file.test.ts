import assert from "node:assert/strict";
import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { random as seededRandom } from "../runner/seeded-random.ts";
import { claudeLine, KeptHome, SESSION } from "./kept-home.ts";

const FILE = `.claude/projects/-work/${SESSION}.jsonl`;

function lines(from: number, to: number, words = "word"): string {
  return Array.from({ length: to - from }, (_, at) => claudeLine(from + at, `${words} ${from + at}`)).join(
    "",
  );
}

test("what is appended to a file is appended to what is kept of it", async () => {
  using home = new KeptHome();
  const path = home.write(FILE, lines(0, 3));
  await home.keeper.pass();
  appendFileSync(path, lines(3, 5));
  await home.keeper.pass();
  await home.keeper.pass();
  assert.equal(home.kept(path), lines(0, 5));
  assert.deepEqual(home.events(), []);
});

test("a line that is half written is kept as it is, and completed", async () => {
  using home = new KeptHome();
  const whole = lines(0, 2);
  const path = home.write(FILE, whole.slice(0, -20));
  await home.keeper.pass();
  assert.equal(home.kept(path), whole.slice(0, -20));
  writeFileSync(path, whole.slice(-20), { flag: "a" });
  await home.keeper.pass();
  assert.equal(home.kept(path), whole);
  assert.equal(home.keeper.archive.versions(1).length, 1);
});

test("a truncated file keeps what it had, and the loss is an event", async () => {
  using home = new KeptHome();
  const path = home.write(FILE, lines(0, 10));
  await home.keeper.pass();
  truncateSync(path, 100);
  const { events } = await home.keeper.pass();
  assert.deepEqual(
    events.map(({ kind, bytes }) => [kind, bytes]),
    [["truncated", lines(0, 10).length - 100]],
  );
  assert.equal(home.kept(path, 1), lines(0, 10));
  assert.equal(home.kept(path), lines(0, 10).slice(0, 100));
});

test("a file that was rewritten has two versions, which share their beginning", async () => {
  using home = new KeptHome();
  const path = home.write(FILE, lines(0, 400));
  await home.keeper.pass();
  const before = home.keeper.archive.storedBytes;
  writeFileSync(path, lines(0, 100) + lines(100, 102, "other"));
  await home.keeper.pass();
  assert.equal(home.kept(path, 1), lines(0, 400));
  assert.equal(home.kept(path), lines(0, 100) + lines(100, 102, "other"));
  assert.match(home.events().join(), /^rewritten \d+$/);
  assert.ok(home.keeper.archive.storedBytes - before < 1_500);
});

test("a rewritten file that is longer than before is not taken for one that has grown", async () => {
  using home = new KeptHome();
  const random = seededRandom(7);
  const big = Array.from({ length: 6_000 }, (_, at) => claudeLine(at, `word ${random()} ${random()}`)).join(
    "",
  );
  assert.ok(big.length > 1024 * 1024);
  const path = home.write(FILE, big);
  await home.keeper.pass();
  const other = big.replace(/word 0\.\d+/g, "term 1234567");
  writeFileSync(path, other + big);
  await home.keeper.pass();
  assert.equal(home.kept(path), other + big);
  assert.equal(home.kept(path, 1), big);
  assert.match(home.events().join(), /^rewritten/);
});

test("a change in the middle that samples miss is found when the file rests", async () => {
  using home = new KeptHome();
  const big = lines(0, 6_000);
  const path = home.write(FILE, big);
  await home.keeper.pass();
  const at = 40_000;
  const changed = `${big.slice(0, at)}#${big.slice(at + 1)}${lines(6_000, 6_001)}`;
  writeFileSync(path, changed);
  await home.keeper.pass();
  home.clock.move(120_000);
  await home.keeper.pass();
  assert.equal(home.kept(path), changed);
  assert.ok(home.kept(path, 1).startsWith(big));
});

test("a removed file stays, and is not taken for one that was renamed", async () => {
  using home = new KeptHome();
  const path = home.write(FILE, lines(0, 3));
  const other = home.write(
    ".claude/projects/-work/22222222-1111-4111-8111-111111111111.jsonl",
    lines(0, 4, "b"),
  );
  await home.keeper.pass();
  rmSync(path);
  renameSync(home.path(".claude/projects/-work"), home.path(".claude/projects/-elsewhere"));
  const { events } = await home.keeper.pass();
  assert.deepEqual(events.map(({ kind }) => kind).toSorted(), ["removed", "renamed"]);
  assert.equal(home.kept(path), lines(0, 3));
  assert.equal(home.kept(other.replace("-work", "-elsewhere")), lines(0, 4, "b"));
  assert.equal(home.keeper.archive.files().length, 2);
});

test("what was written to a file just before its removal is read from the open file", async () => {
  using home = new KeptHome();
  const path = home.write(FILE, lines(0, 3));
  await home.keeper.pass();
  appendFileSync(path, lines(3, 6));
  rmSync(path);
  await home.keeper.pass();
  assert.equal(home.kept(path), lines(0, 6));
  assert.match(home.events().join(), /^removed/);
});

test("what was written to a file just before another one took its place is read too", async () => {
  using home = new KeptHome();
  const path = home.write(FILE, lines(0, 3));
  await home.keeper.pass();
  appendFileSync(path, lines(3, 6));
  home.write(`${FILE}.new`, lines(0, 1, "short"));
  renameSync(`${path}.new`, path);
  await home.keeper.pass();
  assert.equal(home.kept(path, 1), lines(0, 6));
  assert.equal(home.kept(path), lines(0, 1, "short"));
});

test("a file that comes back with the same words is one conversation", async () => {
  using home = new KeptHome();
  const path = home.write(FILE, lines(0, 3));
  await home.keeper.pass();
  rmSync(path);
  await home.keeper.pass();
  home.write(FILE, lines(0, 4));
  await home.keeper.pass();
  assert.deepEqual(
    home.keeper.archive.events().map(({ kind }) => kind),
    ["removed", "returned"],
  );
  assert.equal(home.keeper.archive.files().length, 1);
  assert.equal(home.kept(path), lines(0, 4));
});

test("equal content is stored once, whatever file has it", async () => {
  using home = new KeptHome();
  const random = seededRandom(3);
  const noise = Array.from({ length: 4_000 }, () => random().toString(36).slice(2)).join(" ");
  home.write(FILE, noise);
  await home.keeper.pass();
  const before = home.keeper.archive.storedBytes;
  home.write(".claude/projects/-copy/22222222-1111-4111-8111-111111111111.jsonl", noise);
  await home.keeper.pass();
  assert.ok(home.keeper.archive.storedBytes - before < 500);
});

test("lines that are appended one by one take no more than half of their size", async () => {
  using home = new KeptHome();
  const random = seededRandom(5);
  const words = "the file has a test which fails since the clock moved and nobody waits for it".split(" ");
  const text = (): string =>
    Array.from({ length: 300 }, () => words[Math.floor(random() * words.length)]).join(" ");
  const path = home.write(FILE, claudeLine(0, text()));
  for (let at = 1; at < 40; at += 1) {
    appendFileSync(path, claudeLine(at, text()));
    await home.keeper.pass();
  }
  const size = home.kept(path).length;
  assert.ok(home.keeper.archive.storedBytes < size / 2, `${home.keeper.archive.storedBytes} of ${size}`);
});

test("a database in use is kept with what is only in its log, and is not changed", async () => {
  using home = new KeptHome();
  mkdirSync(home.path(".local/share/opencode"), { recursive: true });
  const path = home.path(".local/share/opencode/opencode.db");
  using writer = new DatabaseSync(path);
  writer.exec("PRAGMA journal_mode = WAL; CREATE TABLE part (data TEXT); INSERT INTO part VALUES ('first')");
  await home.keeper.pass();
  writer.exec("BEGIN; INSERT INTO part VALUES ('not committed')");
  await home.keeper.pass();
  writer.exec("COMMIT");
  home.clock.move(60_000);
  await home.keeper.pass();
  const copy = home.write("copy.db", home.keeper.archive.bytes(1, home.keeper.archive.file(1).version));
  using kept = new DatabaseSync(copy);
  assert.deepEqual(
    kept
      .prepare("SELECT data FROM part")
      .all()
      .map((row) => row["data"]),
    ["first", "not committed"],
  );
  assert.deepEqual(home.problems, []);
  assert.deepEqual(home.events(), []);
});

test("links to files and folders are followed once, also in a circle", async () => {
  using home = new KeptHome();
  const elsewhere = home.write(`elsewhere/-work/${SESSION}.jsonl`, lines(0, 2));
  mkdirSync(home.path(".claude"));
  symlinkSync(home.path("elsewhere"), home.path(".claude/projects"));
  symlinkSync(home.path("elsewhere"), join(home.path("elsewhere"), "-work/circle"));
  await home.keeper.pass();
  assert.equal(home.kept(home.path(FILE)), lines(0, 2));
  appendFileSync(elsewhere, lines(2, 3));
  await home.keeper.pass();
  assert.equal(home.kept(home.path(FILE)), lines(0, 3));
  assert.equal(home.keeper.archive.files().length, 1);
});

test("logins and settings are not kept, and what is not known in a folder of conversations is", async () => {
  using home = new KeptHome();
  home.write(".claude/.credentials.json", "secret");
  home.write(".claude/settings.json", "{}");
  home.write(".claude/plugins/cache/a/b.js", "code");
  home.write(".claude/projects/-work/new-kind.bin", "unknown");
  home.write(".codex/auth.json", "secret");
  await home.keeper.pass();
  assert.deepEqual(
    home.keeper.archive.files().map(({ path }) => path),
    [home.path(".claude/projects/-work/new-kind.bin")],
  );
});

test("an archive whose index is lost is made again from its packs", async () => {
  using home = new KeptHome();
  const path = home.write(FILE, lines(0, 50));
  await home.keeper.pass();
  writeFileSync(path, lines(0, 20));
  await home.keeper.pass();
  home.keeper.close();
  rmSync(home.path("pagurus/keeper/index.db"));
  home.keeper = home.open();
  assert.equal(home.kept(path, 1), lines(0, 50));
  assert.equal(home.kept(path), lines(0, 20));
  assert.equal(home.events().length, 1);
  await home.keeper.pass();
  assert.equal(home.keeper.archive.versions(1).length, 2);
});

test("damaged bytes of a pack cost the blocks in them and no others", async () => {
  using home = new KeptHome();
  const path = home.write(FILE, lines(0, 20));
  await home.keeper.pass();
  const other = home.write(
    ".claude/projects/-b/22222222-1111-4111-8111-111111111111.jsonl",
    lines(0, 20, "other"),
  );
  await home.keeper.pass();
  home.keeper.close();
  const pack = home.path("pagurus/keeper/packs/00000001.pack");
  writeFileSync(pack, "damage", { flag: "r+" });
  rmSync(home.path("pagurus/keeper/index.db"));
  home.keeper = home.open();
  assert.equal(home.kept(other), lines(0, 20, "other"));
  assert.ok(home.keeper.archive.damaged > 0);
  await home.keeper.pass();
  assert.equal(home.kept(path), lines(0, 20));
});
