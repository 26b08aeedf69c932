/** Damaged, half-written or foreign homes of OpenClaw: readable data is imported, the rest reported. */
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { openHome } from "../../../packages/importers/src/openclaw/sessions/home.ts";
import { ClawHome, ClawLines } from "./openclaw-home.ts";
import { about, seen, setting, states } from "./openclaw-setting.ts";

test("dangling links and files in place of folders are reported, and do not stop the rest", async (t) => {
  const { home, agent, take } = setting(t);
  home.file("main", "good.jsonl", new ClawLines("good").user("a").rows);
  const link = (to: string, path: string): void => symlinkSync(to, join(home.folder, path));
  link("loop", "agents/loop");
  link("gone.jsonl", "agents/main/sessions/gone.jsonl");
  link("unmounted", "agents/elsewhere");
  home.write("agents/main/sessions/torn.jsonl.zst", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3]));
  home.write("sessions", "a file");
  mkdirSync(join(agent("main"), "sessions"), { recursive: true });
  symlinkSync("nowhere", join(agent("main"), "sessions", "nowhere.jsonl"));
  writeFileSync(join(agent("main"), "sessions", "empty.jsonl"), "");
  const taken = await take();
  assert.deepEqual(states(taken), ["taken main openclaw:good", "failed main torn"]);
  assert.match(about(taken, "torn").what.join(" "), /torn\.jsonl\.zst cannot be decompressed/);
  const problems = taken.problems.join("\n");
  for (const name of ["loop", "gone\\.jsonl", "elsewhere", "sessions"])
    assert.match(problems, new RegExp(`${name} cannot be read`), name);
});

test("an index of another system is read: a byte order mark, its paths, a renamed file", async (t) => {
  const { home, take } = setting(t);
  home.file("main", "a.jsonl", new ClawLines("a").user("a").rows);
  home.file("main", "b.jsonl", new ClawLines("b").user("b").rows);
  const windows = "C:\\Users\\me\\.openclaw\\agents\\main\\sessions\\a.jsonl";
  const index = {
    "agent:main:a": { sessionId: "a", sessionFile: windows, updatedAt: 1 },
    "agent:main:b": { sessionId: "b", sessionFile: "/old/renamed.jsonl", updatedAt: 1 },
  };
  home.write("agents/main/sessions/sessions.json", `\uFEFF${JSON.stringify(index)}`);
  const taken = await take();
  assert.deepEqual(
    [states(taken), taken.problems],
    [["taken main agent:main:a", "taken main agent:main:b"], []],
  );
});

test("an entry with a duplicate id, and invalid times, lose no text", async (t) => {
  const { home, agent, take } = setting(t);
  const lines = new ClawLines("s1").user("one", { id: "a", timestamp: 9e18 }).answer("two");
  lines
    .user("other words", { id: "a" })
    .answer("three", { parentId: "e2", timestamp: "+275760-09-13T00:00:00.001Z" });
  home.file("main", "s1.jsonl", [...lines.rows, lines.rows[1] ?? {}]);
  const taken = await take();
  assert.deepEqual(states(taken), ["taken main openclaw:s1"]);
  const what = about(taken, "s1").what.join(" ");
  assert.match(what, /Kept as data that no model sees: entry with the id of another 1/);
  assert.match(what, /entry that is there twice 1/);
  const { context, entries } = await seen(t, agent("main"), "openclaw:s1");
  assert.deepEqual(context, ["user one", "assistant two", "assistant three"]);
  assert.match(JSON.stringify(entries), /other words/);
});

test("lines in another encoding are kept byte for byte, and the kept part of a very long one is reported", async (t) => {
  const { home, agent, take } = setting(t);
  const lines = new ClawLines("s1").user("one").rows.map((row) => `${JSON.stringify(row)}\n`);
  const other = Buffer.from('{"type":"message","message":{"role":"user","content":"caf\u00e9"}}\n', "latin1");
  const long = `{"type":"message","content":"${"x".repeat(1024 * 1024)}\n`;
  home.write(
    "agents/main/sessions/s1.jsonl",
    Buffer.concat([Buffer.from(lines.join("")), other, Buffer.from(long)]),
  );
  const what = about(await take(), "s1").what.join(" ");
  assert.match(what, /line 3 \(it is not UTF-8\), line 4 \(it is not JSON; its first MiB is kept\)/);
  const { entries } = await seen(t, agent("main"), "openclaw:s1");
  assert.match(JSON.stringify(entries), /caf\u00e9.*"encoding":"latin1"/);
});

test("a transcript that grows while it is read is imported up to its first size", async (t) => {
  const { home, agent, take } = setting(t);
  const lines = new ClawLines("s1").user("one").answer("two");
  const file = home.file("main", "s1.jsonl", lines.rows);
  const later = lines.user("three").rows.slice(-1);
  const { conversations, close } = openHome(home.folder);
  const [found] = conversations;
  const read = (): number => [...(found?.lines() ?? [])].length;
  assert.equal(read(), 3);
  appendFileSync(file, `${JSON.stringify(later[0])}\n`);
  assert.equal(read(), 3);
  close();
  await take();
  assert.equal((await seen(t, agent("main"), "openclaw:s1")).context.length, 3);
});

test("a damaged page of a database costs the conversations on it, which are reported, and no other", async (t) => {
  const { home, take } = setting(t);
  const db = home.database("main");
  for (let number = 0; number < 20; number += 1) {
    const lines = new ClawLines(`s${number}`).user(`question ${number} ${"x".repeat(2000)}`).answer("Yes.");
    db.session(`s${number}`, `agent:main:${number}`, lines.rows);
  }
  db.close();
  const bytes = readFileSync(db.file);
  const page = Math.floor(bytes.indexOf("question 7 ") / 4096);
  writeFileSync(db.file, bytes.fill(0xff, page * 4096, (page + 1) * 4096));
  const taken = await take();
  const failed = taken.conversations.filter(({ state }) => state === "failed");
  assert.ok(failed.some(({ sourceId }) => sourceId === "s7"));
  assert.ok(failed.length < 6, String(failed.length));
  assert.equal(taken.conversations.length, 20);
  assert.equal(taken.conversations.filter(({ state }) => state === "taken").length, 20 - failed.length);
  assert.match(taken.problems.join(" "), /openclaw-agent\.sqlite is damaged/);
});

test("an uncommitted transaction of a database is not read as committed", async (t) => {
  const { home, take } = setting(t);
  const db = home.database("main");
  db.session("s1", "agent:main:main", new ClawLines("s1").user("a").rows);
  db.close();
  const open = new DatabaseSync(db.file);
  open.exec("PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN; DELETE FROM transcript_events");
  const insert = open.prepare(
    "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('half', ?, ?, 1)",
  );
  for (let seq = 0; seq < 300; seq += 1)
    insert.run(
      seq,
      JSON.stringify({
        type: "message",
        id: `h${seq}`,
        message: { role: "user", content: "h".repeat(3000) },
      }),
    );
  // Both files as a crash leaves them.
  const copy = new ClawHome(join(home.folder, "..", "copy"));
  copy.write("agents/main/agent/openclaw-agent.sqlite", readFileSync(db.file));
  copy.write("agents/main/agent/openclaw-agent.sqlite-journal", readFileSync(`${db.file}-journal`));
  open.exec("ROLLBACK");
  open.close();
  const { conversations, problems } = await take({ folder: copy.folder, dryRun: true });
  assert.deepEqual(conversations, []);
  assert.match(problems.join(" "), /cannot be read as a database/);
});
