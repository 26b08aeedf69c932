/** State that a dead process has left, and how the next one handles it. */
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import { filesWith, textOf } from "../../stores/files/fixtures.ts";
import { OWNER_DIED, Setting, untilAborted, type Script } from "./setting.ts";

const hangs: Script = ({ signal }) => untilAborted(signal);

test("a child whose process died is swept once, and its parent's next turn gets the result", async (t) => {
  const before = new Setting(t, { script: hangs });
  const agent = await before.subagents.spawn({ task: "x" });
  before.registry(OWNER_DIED);
  const after = new Setting(t, {}, before.root);
  assert.deepEqual(
    after.subagents.facts("main").map(({ state }) => state),
    ["swept"],
  );
  await Promise.all([after.subagents.sweep(), after.subagents.sweep()]);
  await after.subagents.sweep();
  assert.deepEqual(after.ended, [{ childSessionKey: agent.childSessionKey, reason: "swept" }]);
  const [result] = await after.subagents.results("main");
  assert.match(
    result ? textOf(result.message) : "",
    /The process that ran it ended before it had finished\./,
  );
  assert.ok(after.store.find(agent.childSessionKey), "its transcript stays");
});

test("two processes that sweep at once notify the engine once", async (t) => {
  const before = new Setting(t, { script: hangs });
  for (const task of ["a", "b", "c"]) await before.subagents.spawn({ task });
  before.registry(OWNER_DIED);
  const [one, two] = [new Setting(t, {}, before.root), new Setting(t, {}, before.root)];
  await Promise.all([one.subagents.sweep(), two.subagents.sweep()]);
  assert.deepEqual([...one.ended, ...two.ended].map(({ childSessionKey }) => childSessionKey).toSorted(), [
    "main/sub-1",
    "main/sub-2",
    "main/sub-3",
  ]);
});

test("a spawn that died half-way leaves no session and no result, and the engine is notified", async (t) => {
  for (const made of [false, true]) {
    const before = new Setting(t, { script: hangs });
    const agent = await before.subagents.spawn({ task: "x" });
    await agent.release();
    before.ended.length = 0;
    if (!made) before.store.delete(agent.childSessionKey);
    before.registry(`${OWNER_DIED}, state = 'preparing', told = 0, reason = NULL, outcome = NULL`);
    const after = new Setting(t, {}, before.root);
    await after.subagents.sweep();
    await after.subagents.sweep();
    assert.deepEqual(after.ended, [{ childSessionKey: agent.childSessionKey, reason: "swept" }]);
    assert.equal(after.store.find(agent.childSessionKey), undefined);
    assert.deepEqual(await after.subagents.results("main"), []);
    assert.deepEqual(after.subagents.facts("main"), []);
  }
});

test("a crash between the end of a child and its notification leads to the notification, with the reason it had", async (t) => {
  const before = new Setting(t);
  await (
    await before.subagents.spawn({ task: "x" })
  ).ended;
  before.registry(`${OWNER_DIED}, told = 0`);
  const after = new Setting(t, {}, before.root);
  await after.subagents.sweep();
  await after.subagents.sweep();
  assert.deepEqual(after.ended, [{ childSessionKey: "main/sub-1", reason: "completed" }]);
});

test("a result survives the process, word for word, without being stored twice", async (t) => {
  const before = new Setting(t, { script: ({ say }) => say("the only copy of quokka") });
  await (
    await before.subagents.spawn({ task: "x" })
  ).ended;
  const expected = await before.subagents.results("main");
  await before.subagents.close();
  const after = new Setting(t, {}, before.root);
  assert.deepEqual(await after.subagents.results("main"), expected);
  after.subagents.delivered(["main/sub-1"]);
  const last = new Setting(t, {}, before.root);
  assert.deepEqual(await last.subagents.results("main"), []);
  const copies = filesWith(before.root, "quokka").map((file) => relative(before.root, file));
  assert.deepEqual(
    copies.filter((file) => file.startsWith("subagents") || file.endsWith(".jsonl")).length,
    1,
    copies.join(),
  );
});

test("children of a live process are not swept, and count against the limit of another", async (t) => {
  const one = new Setting(t, { script: hangs, subagents: { maxConcurrent: 1 } });
  const agent = await one.subagents.spawn({ task: "x" });
  const two = new Setting(t, { script: hangs, subagents: { maxConcurrent: 1 } }, one.root);
  await two.subagents.sweep();
  assert.deepEqual(two.ended, []);
  await assert.rejects(
    two.subagents.spawn({ task: "y" }),
    (error) => error instanceof PagurusError && error.code === "subagent_limit",
  );
  await agent.release();
  assert.equal((await two.subagents.spawn({ task: "y" })).childSessionKey, "main/sub-2");
});

test("children of a dead process do not count against the limit", async (t) => {
  const one = new Setting(t, { script: hangs, subagents: { maxConcurrent: 1 } });
  await one.subagents.spawn({ task: "x" });
  one.registry(OWNER_DIED);
  const two = new Setting(t, { script: hangs, subagents: { maxConcurrent: 1 } }, one.root);
  assert.equal((await two.subagents.spawn({ task: "y" })).childSessionKey, "main/sub-2");
});

test("a parent that is renewed by one process releases the children that run in another", async (t) => {
  const one = new Setting(t, { script: hangs });
  const agent = await one.subagents.spawn({ task: "x" });
  const two = new Setting(t, {}, one.root);
  await two.subagents.endChildren("main", "renewed");
  assert.deepEqual([one.ended, two.ended], [[], []], "its own process ends it");
  await one.subagents.sweep();
  assert.equal((await agent.ended).outcome, "aborted");
  assert.deepEqual([one.ended.map(({ reason }) => reason), two.ended], [["released"], []]);
});

test("an owner on another host is alive while it updates its rows", async (t) => {
  const before = new Setting(t, { script: hangs });
  await before.subagents.spawn({ task: "x" });
  before.registry("UPDATE children SET instance = 'far', host = 'another.example', pid = 4194305");
  const after = new Setting(t, {}, before.root);
  await after.subagents.sweep();
  assert.deepEqual(after.ended, []);
  before.registry("UPDATE children SET seen = seen - 400000");
  await after.subagents.sweep();
  assert.deepEqual(
    after.ended.map(({ reason }) => reason),
    ["swept"],
  );
});

test("an end waits while the engine cannot be created, and is reported when it can", async (t) => {
  const before = new Setting(t, { script: hangs });
  await before.subagents.spawn({ task: "x" });
  before.registry(OWNER_DIED);
  const after = new Setting(t, {}, before.root);
  const broken = t.mock.method(after.host.slot, "get", () =>
    Promise.reject(new PagurusError("engine_failed", "No.")),
  );
  await after.subagents.sweep();
  assert.deepEqual(after.ended, []);
  broken.mock.restore();
  await after.subagents.sweep();
  assert.deepEqual(after.ended, [{ childSessionKey: "main/sub-1", reason: "swept" }]);
});

test("a notification that a sweep cannot record is recorded by the next, and not repeated", async (t) => {
  const before = new Setting(t, { script: hangs });
  await before.subagents.spawn({ task: "x" });
  before.registry(OWNER_DIED);
  const after = new Setting(t, {}, before.root);
  after.registry(
    "CREATE TRIGGER full BEFORE UPDATE OF told ON children BEGIN SELECT RAISE(FAIL, 'disk full'); END",
  );
  await after.subagents.sweep();
  await after.subagents.sweep();
  after.registry("DROP TRIGGER full");
  await after.subagents.sweep();
  await after.subagents.sweep();
  assert.deepEqual(after.ended, [{ childSessionKey: "main/sub-1", reason: "swept" }]);
  const rows = new DatabaseSync(join(after.root, "subagents.db")).prepare("SELECT told FROM children").all();
  assert.deepEqual(
    rows.map((row) => row["told"]),
    [1],
  );
});

test("a child that is deleted before its notification is reported first", async (t) => {
  const before = new Setting(t, { script: hangs });
  await before.subagents.spawn({ task: "x" });
  before.registry(OWNER_DIED);
  const after = new Setting(t, {}, before.root);
  after.subagents.forget("main");
  assert.deepEqual(await after.subagents.results("main"), []);
  await after.subagents.sweep();
  assert.deepEqual(after.ended, [{ childSessionKey: "main/sub-1", reason: "swept" }]);
  assert.deepEqual(after.subagents.descendants("main"), []);
});

test("a damaged registry is set aside, and children can be started again", async (t) => {
  const before = new Setting(t);
  await (
    await before.subagents.spawn({ task: "x" })
  ).ended;
  await before.subagents.close();
  writeFileSync(
    join(before.root, "subagents.db"),
    "not a database, though it is long enough to be one".repeat(40),
  );
  const after = new Setting(t, {}, before.root);
  assert.equal((await after.subagents.spawn({ task: "y" })).childSessionKey, "main/sub-2", "its key is free");
  assert.ok(existsSync(join(before.root, "subagents.db.damaged")));
});
