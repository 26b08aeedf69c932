import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import type { HostOperation } from "../../../packages/contract/src/engine/engine.ts";
import { isSessionKey } from "../../../packages/host/src/stores/files/keys.ts";
import { mirrorPath } from "../../../packages/host/src/turn/engine/engine-files.ts";
import { childKey } from "../../../packages/host/src/turn/subagents/child-key.ts";
import { assistant, sayTurn, toolResult, user } from "../../stores/files/fixtures.ts";
import { Setting, untilAborted } from "./setting.ts";

const hangs = { script: ({ signal }: { signal: AbortSignal }) => untilAborted(signal) };

function code(expected: string): (error: unknown) => boolean {
  return (error) => error instanceof PagurusError && error.code === expected;
}

test("the engine is notified of a child before it exists, and of its end once it has ended", async (t) => {
  const setting = new Setting(t);
  const parent = setting.parent();
  const key = await setting.call(parent, { task: "look around" });
  assert.equal(key, "main/sub-1");
  await setting.subagents.nextEnd("main");
  assert.deepEqual(setting.log, [
    "prepare main/sub-1",
    "subagent.started",
    "run main/sub-1",
    "told main/sub-1 completed",
    "ended main/sub-1 completed",
  ]);
  assert.equal(setting.subagents.nextEnd("main"), undefined);
});

test("the engine receives both sessions, their ids and files, and the time to live", async (t) => {
  const setting = new Setting(t, { subagents: { ttlSeconds: 60 } });
  const parent = setting.parent();
  const key = await setting.call(parent, { task: "look" });
  const child = setting.store.find(key);
  const record = setting.store.find("main");
  assert.ok(child && record);
  assert.deepEqual(setting.prepared, [
    {
      parentSessionKey: "main",
      childSessionKey: key,
      contextMode: "isolated",
      parentSessionId: record.sessionId,
      childSessionId: child.sessionId,
      parentSessionFile: mirrorPath(record.file),
      childSessionFile: mirrorPath(child.file),
      ttlMs: 60_000,
    },
  ]);
});

test("a child inherits folder, permission, model, and runtime, and may have a model of its own", async (t) => {
  const setting = new Setting(t);
  const parent = setting.parent({ permission: "read-only" });
  await setting.call(parent, { task: "one" });
  await setting.call(parent, { task: "two", model: "test/other" });
  const [one, two] = setting.requests;
  assert.ok(one && two);
  assert.deepEqual(
    [one.prompt, one.cwd, one.permission, one.model, one.runtime],
    ["one", setting.root, "read-only", "test/model", "embedded"],
  );
  assert.deepEqual([two.model, two.runtime], ["test/other", undefined]);
});

test("a fork holds the conversation before the live turn, and not the call that starts it", async (t) => {
  const setting = new Setting(t, hangs);
  const writer = setting.store.openWriter("main", { cwd: setting.root });
  sayTurn(writer, "turn-0", "before");
  const forkAt = writer.leafId;
  writer.append({ type: "message", turnId: "turn-1", message: user("now") });
  writer.append({ type: "message", turnId: "turn-1", message: assistant("spawning", ["call-1"]) });
  const parent = setting.parent({ forkAt: () => forkAt });
  const key = await setting.call(parent, { task: "go on", context: "fork" });
  const library = await setting.subagents.spawn({ task: "go on", contextMode: "fork" });
  for (const child of [key, library.childSessionKey]) {
    const reader = setting.store.openReader(child);
    const contents = reader.contextMessages().messages.map(({ content }) => JSON.stringify(content));
    reader.close();
    assert.ok(contents[0]?.includes("before") && contents[1]?.includes("answer to before"), contents.join());
    assert.ok(!contents.some((text) => text.includes("now") || text.includes("spawning")), contents.join());
  }
  assert.equal(setting.prepared[0]?.contextMode, "fork");
  writer.append({ type: "message", turnId: "turn-1", message: toolResult("call-1", "started") });
  writer.commitTurn({ turnId: "turn-1", outcome: "completed" });
  writer.close();
  const later = await setting.subagents.spawn({ task: "go on", contextMode: "fork" });
  const reader = setting.store.openReader(later.childSessionKey);
  assert.ok(
    JSON.stringify(reader.contextMessages()).includes("spawning"),
    "between turns a fork ends at the leaf",
  );
  reader.close();
});

test("a fork in the first turn of a session begins empty", async (t) => {
  const setting = new Setting(t, hangs);
  const writer = setting.store.openWriter("main", { cwd: setting.root });
  writer.append({ type: "message", turnId: "turn-1", message: user("now") });
  const key = await setting.call(setting.parent(), { task: "task of it", context: "fork" });
  const library = await setting.subagents.spawn({ task: "task of it", contextMode: "fork" });
  for (const child of [key, library.childSessionKey]) {
    const reader = setting.store.openReader(child);
    assert.ok(!JSON.stringify(reader.contextMessages()).includes("now"));
    reader.close();
  }
  writer.close();
});

test("an engine that fails or never answers at the spawn refuses it, and nothing is created", async (t) => {
  const failing = new Setting(t, {
    engine: { prepareSubagentSpawn: () => Promise.reject(new Error("no room")) },
  });
  await assert.rejects(failing.call(failing.parent(), { task: "x" }), (error: unknown) => {
    assert.ok(error instanceof PagurusError);
    assert.equal(error.code, "engine_failed");
    assert.match(error.message, /no room/);
    return true;
  });
  const hanging = new Setting(t, {
    deadlines: { subagent: 0.05 },
    engine: { prepareSubagentSpawn: () => new Promise(() => undefined) },
  });
  await assert.rejects(hanging.call(hanging.parent(), { task: "x" }), /took longer than 50 ms/);
  const nonsense = new Setting(t, {
    engine: { prepareSubagentSpawn: () => Promise.resolve({} as { rollback(): Promise<void> }) },
  });
  await assert.rejects(nonsense.call(nonsense.parent(), { task: "x" }), /without a rollback/);
  for (const setting of [failing, hanging, nonsense]) {
    assert.deepEqual(setting.log, ["degraded subagent"]);
    assert.deepEqual(
      setting.store.list().map(({ sessionKey }) => sessionKey),
      ["main"],
    );
    assert.deepEqual(setting.subagents.facts("main"), []);
  }
});

test("a preparation that arrives after its deadline is rolled back", async (t) => {
  const answer = Promise.withResolvers<void>();
  const rolledBack = Promise.withResolvers<void>();
  const setting = new Setting(t, {
    deadlines: { subagent: 0.02 },
    engine: {
      prepareSubagentSpawn: async () => {
        await answer.promise;
        return { rollback: () => Promise.resolve(rolledBack.resolve()) };
      },
    },
  });
  await assert.rejects(setting.call(setting.parent(), { task: "x" }), code("engine_failed"));
  answer.resolve();
  await rolledBack.promise;
});

test("an engine that prepares nothing, or has no such members, prevents no child", async (t) => {
  for (const members of [
    { prepareSubagentSpawn: () => Promise.resolve(undefined) },
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an engine without the members
    { prepareSubagentSpawn: undefined, onSubagentEnded: undefined } as unknown as object,
  ]) {
    const setting = new Setting(t, { engine: members });
    const agent = await setting.subagents.spawn({ task: "x" });
    assert.deepEqual(await agent.ended, { outcome: "completed", text: "done" });
  }
});

test("a session that cannot be created rolls the engine back and leaves nothing", async (t) => {
  for (const member of ["fork", "create"] as const) {
    const setting = new Setting(t);
    const writer = setting.store.openWriter("main", { cwd: setting.root });
    const [, leaf] = sayTurn(writer, "turn-0", "before");
    writer.close();
    const parent = setting.parent({ forkAt: () => leaf ?? null });
    t.mock.method(setting.store, member, () => {
      throw new PagurusError("store_write_failed", "The disk is full.");
    });
    const context = member === "fork" ? "fork" : "isolated";
    await assert.rejects(setting.call(parent, { task: "x", context }), code("store_write_failed"));
    assert.deepEqual(setting.log, ["prepare main/sub-1", "rollback main/sub-1"]);
    t.mock.restoreAll();
    const next = await setting.call(parent, { task: "x", context });
    assert.equal(next, "main/sub-2");
  }
});

test("a created session is removed when the registry cannot be written", async (t) => {
  const setting = new Setting(t, {
    engine: {
      prepareSubagentSpawn: (params) => {
        setting.registry(
          "CREATE TRIGGER full BEFORE UPDATE ON children BEGIN SELECT RAISE(FAIL, 'disk full'); END",
        );
        setting.log.push(`prepare ${params.childSessionKey}`);
        return Promise.resolve({ rollback: () => Promise.resolve(void setting.log.push("rollback")) });
      },
    },
  });
  await assert.rejects(setting.subagents.spawn({ task: "x" }), code("store_write_failed"));
  assert.deepEqual(setting.log, ["prepare main/sub-1", "rollback"]);
  assert.equal(setting.store.find("main/sub-1"), undefined);
  setting.registry("DROP TRIGGER full");
  await setting.subagents.sweep();
  assert.deepEqual(setting.ended, [], "what was rolled back has not ended");
  assert.deepEqual(setting.subagents.facts("main"), []);
});

test("a rollback that fails is a degradation; the error is the spawn's", async (t) => {
  const setting = new Setting(t, {
    engine: {
      prepareSubagentSpawn: () => Promise.resolve({ rollback: () => Promise.reject(new Error("stuck")) }),
    },
  });
  const parent = setting.parent();
  t.mock.method(setting.store, "create", () => {
    throw new PagurusError("store_write_failed", "The disk is full.");
  });
  await assert.rejects(setting.call(parent, { task: "x" }), code("store_write_failed"));
  assert.deepEqual(setting.log, ["degraded subagent"]);
});

test("a child whose caller is aborted while the engine prepares never starts", async (t) => {
  const controller = new AbortController();
  const setting = new Setting(t, {
    engine: {
      prepareSubagentSpawn: () => {
        controller.abort();
        return Promise.resolve({ rollback: () => Promise.resolve(void setting.log.push("rollback")) });
      },
    },
  });
  const spawning = setting.subagents.spawn({ task: "x", signal: controller.signal });
  await assert.rejects(spawning, code("turn_aborted"));
  assert.deepEqual([setting.log, setting.requests], [["rollback"], []]);
  await assert.rejects(
    setting.subagents.spawn({ task: "x", signal: controller.signal }),
    code("turn_aborted"),
  );
});

test("children nest as deep as configured, and a turn that is too deep has no tool", async (t) => {
  const setting = new Setting(t, hangs);
  const child = await setting.call(setting.parent(), { task: "x" });
  const grandchild = await setting.call(setting.parent({ sessionKey: child }), { task: "y" });
  assert.deepEqual([child, grandchild], ["main/sub-1", "main/sub-1/sub-1"]);
  assert.deepEqual([setting.subagents.depthOf(child), setting.subagents.depthOf(grandchild)], [1, 2]);
  assert.equal(setting.subagents.tool(setting.parent({ sessionKey: grandchild })), undefined);
  const spawning = setting.subagents.spawn({ task: "z", parentSessionKey: grandchild });
  await assert.rejects(spawning, (error: unknown) => {
    assert.ok(error instanceof PagurusError);
    assert.equal(error.code, "subagent_limit");
    assert.match(error.message, /depth 2 .*agents\.defaults\.subagents\.maxSpawnDepth is 2/);
    return true;
  });
  assert.equal(setting.subagents.depthOf("mine/sub-7"), 0, "a session that a user named so is no child");
});

test("depth 0 turns subagents off", async (t) => {
  const setting = new Setting(t, { subagents: { maxSpawnDepth: 0 } });
  assert.equal(setting.subagents.tool(setting.parent()), undefined);
  await assert.rejects(setting.subagents.spawn({ task: "x" }), code("subagent_limit"));
  assert.equal(existsSync(join(setting.root, "subagents.db")), false);
});

test("a session has as many children at a time as configured, also when they start together", async (t) => {
  const setting = new Setting(t, { ...hangs, subagents: { maxConcurrent: 2 } });
  const spawns = [1, 2, 3, 4].map((n) => setting.subagents.spawn({ task: `task ${n}` }));
  const settled = await Promise.allSettled(spawns);
  assert.deepEqual(
    settled.map(({ status }) => status),
    ["fulfilled", "fulfilled", "rejected", "rejected"],
  );
  const [first, , third] = settled;
  assert.ok(third?.status === "rejected" && code("subagent_limit")(third.reason));
  assert.match(String(third.reason), /2 subagents .*agents\.defaults\.subagents\.maxConcurrent/);
  assert.ok(
    await setting.subagents.spawn({ task: "x", parentSessionKey: "other" }),
    "another session has its own",
  );
  assert.ok(first?.status === "fulfilled");
  await first.value.release();
  assert.equal((await setting.subagents.spawn({ task: "x" })).childSessionKey, "main/sub-3");
});

test("a spawn whose run would be refused is refused before anything is prepared", async (t) => {
  const needs = (operation: HostOperation): object => ({
    info: {
      id: "recording",
      name: "recording",
      hostRequirements: { [operation]: { requiredCapabilities: ["thread-bootstrap-projection"] } },
    },
  });
  for (const operation of ["subagent-spawn", "agent-run"] as const) {
    const setting = new Setting(t, { engine: needs(operation) });
    await assert.rejects(setting.call(setting.parent(), { task: "x" }), code("host_requirement"));
    await assert.rejects(setting.subagents.spawn({ task: "x" }), code("host_requirement"));
    assert.deepEqual(setting.log, []);
  }
  const setting = new Setting(t);
  const { subagents } = setting;
  await assert.rejects(subagents.spawn({ task: " " }), code("usage_invalid"));
  await assert.rejects(
    subagents.spawn({ task: "x", cwd: join(setting.root, "none") }),
    code("usage_invalid"),
  );
  for (const ttlMs of [0, -1, Number.NaN, 1e300])
    await assert.rejects(subagents.spawn({ task: "x", ttlMs }), code("usage_invalid"));
  await assert.rejects(subagents.spawn({ task: "x", model: "nobody/knows" }), code("model_unknown"));
  await assert.rejects(subagents.spawn({ task: "x", contextMode: "fork" }), code("session_not_found"));
  await assert.rejects(subagents.spawn({ task: "x", parentSessionKey: "a b" }), code("session_key_invalid"));
  assert.equal(existsSync(join(setting.root, "subagents.db")), false, "nothing was recorded");
});

test("a host without children never creates a registry; the one that it creates is private", async (t) => {
  const setting = new Setting(t);
  const { subagents } = setting;
  const file = join(setting.root, "subagents.db");
  await subagents.sweep();
  await subagents.results("main");
  subagents.delivered(["main/sub-1"]);
  await subagents.endChildren("main", "deleted");
  subagents.forget("main");
  assert.deepEqual([subagents.facts("main"), subagents.depthOf("main/sub-1")], [[], 0]);
  assert.equal(existsSync(file), false);
  await (
    await subagents.spawn({ task: "x" })
  ).ended;
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test("a registry that cannot be opened refuses a spawn and is reported to a turn", async (t) => {
  const setting = new Setting(t);
  await (
    await setting.subagents.spawn({ task: "x" })
  ).ended;
  const next = new Setting(t, {}, setting.root);
  for (const name of ["subagents.db", "subagents.db-wal", "subagents.db-shm"])
    rmSync(join(setting.root, name), { force: true });
  mkdirSync(join(setting.root, "subagents.db"));
  const reasons: string[] = [];
  assert.deepEqual(await next.subagents.results("main", (reason) => reasons.push(reason)), []);
  assert.match(reasons.join(), /subagents\.db/);
  await assert.rejects(next.subagents.spawn({ task: "x" }), /subagents\.db/);
  assert.equal(next.subagents.depthOf("main/sub-1"), 1, "its key still tells how deep it is");
});

test("a key of any length has children with valid keys of their own", () => {
  const long = "a".repeat(200);
  for (const parent of ["main", long, `${long.slice(1)}b`, "é".repeat(195), "😀x", "𝒜".repeat(200)]) {
    if (!isSessionKey(parent)) continue;
    assert.ok(isSessionKey(childKey(parent, 1)), childKey(parent, 1));
    assert.ok(isSessionKey(childKey(childKey(parent, 12), 3)));
  }
  assert.notEqual(childKey(long, 1), childKey(`${long.slice(1)}b`, 1));
  assert.notEqual(childKey(long, 1), childKey(long, 2));
});
