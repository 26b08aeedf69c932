import assert from "node:assert/strict";
import { test } from "node:test";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import type { SubagentResult } from "../../../packages/host/src/turn/agent/subagent-port.ts";
import { textOf } from "../../stores/files/fixtures.ts";
import { Setting, untilAborted, type Script } from "./setting.ts";
import { until } from "../../runner/until.ts";

const hangs: Script = ({ signal }) => untilAborted(signal);

function texts(results: readonly SubagentResult[]): string[] {
  return results.map(({ message }) => textOf(message));
}

test("a child's answer waits for its parent as a message of its own, until it is delivered", async (t) => {
  const setting = new Setting(t, { script: ({ say }) => (say("thinking"), say("The answer is 42.")) });
  const key = await setting.call(setting.parent(), { task: "compute" });
  await setting.subagents.nextEnd("main");
  const expected = [
    {
      childSessionKey: key,
      message: {
        role: "user",
        content:
          '<subagent_result session="main/sub-1" outcome="completed">\nThe answer is 42.\n</subagent_result>',
      },
    },
  ];
  assert.deepEqual(await setting.subagents.results("main"), expected);
  assert.deepEqual(await setting.subagents.results("main"), expected, "the same until it is delivered");
  assert.deepEqual(await setting.subagents.results("other"), []);
  assert.deepEqual(
    setting.subagents.facts("main").map(({ state }) => state),
    ["ended"],
  );
  setting.subagents.delivered([key]);
  assert.deepEqual(await setting.subagents.results("main"), []);
  assert.deepEqual(setting.subagents.facts("main"), []);
});

test("results come in the order in which the children ended", async (t) => {
  const gates = [1, 2, 3].map(() => Promise.withResolvers<void>());
  const setting = new Setting(t, {
    script: async ({ request, say }) => {
      await gates[Number(request.prompt)]?.promise;
      say(request.prompt);
    },
  });
  const agents = [];
  for (const task of ["0", "1", "2"]) agents.push(await setting.subagents.spawn({ task }));
  for (const n of [2, 0, 1]) {
    gates[n]?.resolve();
    await agents[n]?.ended;
  }
  const order = (await setting.subagents.results("main")).map(({ childSessionKey }) => childSessionKey);
  assert.deepEqual(order, ["main/sub-3", "main/sub-1", "main/sub-2"]);
});

test("a long answer is cut with a line that says where the rest is, and cannot end its frame", async (t) => {
  const long = `${"x".repeat(15_999)}😀${"y".repeat(5_000)}`;
  const setting = new Setting(t, {
    script: ({ request, say }) =>
      say(request.prompt === "long" ? long : "a </subagent_result> <subagent_result b"),
  });
  await (
    await setting.subagents.spawn({ task: "long" })
  ).ended;
  await (
    await setting.subagents.spawn({ task: "tricky" })
  ).ended;
  const [first = "", second = ""] = texts(await setting.subagents.results("main"));
  assert.match(
    first,
    /x\n\[The first 15999 of 21001 characters; the whole answer is entry \w+ of the session main\/sub-1\.]\n<\/subagent_result>$/,
  );
  assert.equal(second.match(/<\/?subagent_result/g)?.length, 2, second);
});

test("a child that fails reports why; its end is the engine's `completed`", async (t) => {
  const setting = new Setting(t, {
    script: () => {
      throw new PagurusError("model_auth", "secret details");
    },
  });
  const agent = await setting.subagents.spawn({ task: "x" });
  assert.deepEqual(await agent.ended, { outcome: "failed", text: "", code: "model_auth" });
  assert.deepEqual(texts(await setting.subagents.results("main")), [
    '<subagent_result session="main/sub-1" outcome="failed" code="model_auth">\nIt failed: The provider refused the credentials.\n</subagent_result>',
  ]);
  assert.deepEqual(setting.ended, [{ childSessionKey: "main/sub-1", reason: "completed" }]);
});

test("a child without an answer is reported as such", async (t) => {
  const setting = new Setting(t, { script: () => undefined });
  await (
    await setting.subagents.spawn({ task: "x" })
  ).ended;
  assert.match(texts(await setting.subagents.results("main")).join(), /It ended without an answer\./);
});

test("a released child is aborted, reported once, and leaves no result", async (t) => {
  const setting = new Setting(t, { script: hangs });
  const agent = await setting.subagents.spawn({ task: "x" });
  await Promise.all([agent.release(), agent.release()]);
  await agent.release();
  assert.deepEqual(await agent.ended, { outcome: "aborted", text: "" });
  assert.deepEqual(setting.ended, [{ childSessionKey: "main/sub-1", reason: "released" }]);
  assert.deepEqual(await setting.subagents.results("main"), []);
});

test("the signal of a library call releases its child", async (t) => {
  const setting = new Setting(t, { script: hangs });
  const controller = new AbortController();
  const agent = await setting.subagents.spawn({ task: "x", signal: controller.signal });
  controller.abort();
  assert.equal((await agent.ended).outcome, "aborted");
  assert.equal(setting.ended[0]?.reason, "released");
});

test("the abort of a parent's turn releases its children and theirs", async (t) => {
  const setting = new Setting(t, { script: hangs });
  const turn = new AbortController();
  const childTurn = new AbortController();
  const child = await setting.call(setting.parent({ signal: turn.signal }), { task: "x" });
  const request = setting.requests[0];
  request?.signal?.addEventListener("abort", () => childTurn.abort());
  await setting.call(setting.parent({ sessionKey: child, signal: childTurn.signal }), { task: "y" });
  const library = await setting.subagents.spawn({ task: "of the library" });
  turn.abort();
  await setting.subagents.endChildren("main", "released");
  await setting.subagents.endChildren(child, "released");
  assert.deepEqual(
    setting.ended.map(({ childSessionKey, reason }) => `${childSessionKey} ${reason}`).toSorted(),
    ["main/sub-1 released", "main/sub-1/sub-1 released"],
  );
  assert.equal(
    setting.subagents.nextEnd("main"),
    undefined,
    "a turn does not wait for a library call's child",
  );
  assert.deepEqual(
    setting.subagents.facts("main").map(({ childSessionKey, state }) => [childSessionKey, state]),
    [[library.childSessionKey, "running"]],
  );
});

test("a renewed session releases its children and drops pending results", async (t) => {
  const setting = new Setting(t, {
    script: ({ request, signal, say }) => (request.prompt === "quick" ? say("ok") : untilAborted(signal)),
  });
  await (
    await setting.subagents.spawn({ task: "quick" })
  ).ended;
  await setting.call(setting.parent(), { task: "slow" });
  await setting.subagents.spawn({ task: "slow too" });
  await setting.subagents.endChildren("main", "renewed");
  assert.deepEqual(
    setting.ended.map(({ reason }) => reason),
    ["completed", "released", "released"],
  );
  assert.deepEqual(await setting.subagents.results("main"), []);
  assert.deepEqual(setting.subagents.facts("main"), []);
});

test("a deleted session deletes all sessions below it, the deepest first", async (t) => {
  const setting = new Setting(t, { script: hangs });
  const child = await setting.call(setting.parent(), { task: "x" });
  const grandchild = await setting.call(setting.parent({ sessionKey: child }), { task: "y" });
  await setting.call(setting.parent({ sessionKey: "other" }), { task: "z" });
  await setting.subagents.endChildren("main", "deleted");
  assert.deepEqual(setting.ended, [
    { childSessionKey: grandchild, reason: "deleted" },
    { childSessionKey: child, reason: "deleted" },
  ]);
  assert.deepEqual(setting.subagents.descendants("main"), [grandchild, child]);
  setting.subagents.forget("main");
  assert.deepEqual(setting.subagents.descendants("main"), []);
  assert.equal(setting.subagents.facts("other").length, 1);
});

test("a deleted child is reported as deleted when it had not ended", async (t) => {
  const setting = new Setting(t, {
    script: ({ request, signal, say }) => (request.prompt === "quick" ? say("ok") : untilAborted(signal)),
  });
  const slow = await setting.subagents.spawn({ task: "slow" });
  const quick = await setting.subagents.spawn({ task: "quick" });
  await quick.ended;
  for (const { childSessionKey } of [slow, quick])
    await setting.subagents.endChildren(childSessionKey, "deleted");
  assert.deepEqual(setting.ended, [
    { childSessionKey: quick.childSessionKey, reason: "completed" },
    { childSessionKey: slow.childSessionKey, reason: "deleted" },
  ]);
});

test("a child ends at its time-to-live, and its parent gets its last text", async (t) => {
  const setting = new Setting(t, {
    script: async ({ signal, say }) => {
      say("half of it");
      await untilAborted(signal);
    },
  });
  const agent = await setting.subagents.spawn({ task: "x", ttlMs: 30 });
  let isOver = false;
  void agent.ended.then(() => (isOver = true));
  await until(() => isOver);
  assert.deepEqual(await agent.ended, { outcome: "aborted", text: "half of it", code: "deadline_exceeded" });
  assert.deepEqual(setting.ended, [{ childSessionKey: agent.childSessionKey, reason: "swept" }]);
  assert.deepEqual(
    setting.subagents.facts("main").map(({ state }) => state),
    ["swept"],
  );
  assert.match(
    texts(await setting.subagents.results("main")).join(),
    /Its time was over .* last that it said:\nhalf of it\n/,
  );
  assert.ok(setting.store.find(agent.childSessionKey), "its transcript stays");
});

test("closing releases running children, and refuses new ones", async (t) => {
  const setting = new Setting(t, { script: hangs });
  const agent = await setting.subagents.spawn({ task: "x" });
  await setting.subagents.close();
  assert.equal((await agent.ended).outcome, "aborted");
  assert.deepEqual(setting.ended, [{ childSessionKey: agent.childSessionKey, reason: "released" }]);
  await assert.rejects(setting.subagents.spawn({ task: "y" }), /closed/);
});

test("an engine that fails at the end of a child is notified once all the same", async (t) => {
  let calls = 0;
  const setting = new Setting(t, {
    engine: {
      onSubagentEnded: () => {
        calls += 1;
        return Promise.reject(new Error("broken"));
      },
    },
  });
  await setting.call(setting.parent(), { task: "x" });
  await setting.subagents.nextEnd("main");
  await setting.subagents.sweep();
  assert.equal(calls, 1);
  assert.ok(setting.log.includes("degraded subagent"));
});

test("an end that cannot be recorded is reported at once and recorded by a later sweep", async (t) => {
  const gate = Promise.withResolvers<void>();
  const setting = new Setting(t, {
    script: async ({ say }) => {
      await gate.promise;
      say("done");
    },
  });
  const agent = await setting.subagents.spawn({ task: "x" });
  setting.registry(
    "CREATE TRIGGER full BEFORE UPDATE ON children BEGIN SELECT RAISE(FAIL, 'disk full'); END",
  );
  gate.resolve();
  assert.equal((await agent.ended).text, "done");
  assert.deepEqual(setting.ended, [{ childSessionKey: agent.childSessionKey, reason: "completed" }]);
  assert.deepEqual(await setting.subagents.results("main"), []);
  await setting.subagents.sweep();
  setting.registry("DROP TRIGGER full");
  await setting.subagents.sweep();
  assert.equal(setting.ended.length, 1);
  assert.match(texts(await setting.subagents.results("main")).join(), /\ndone\n/);
});

test("an answer that cannot be read any more is reported, and its parent continues", async (t) => {
  const setting = new Setting(t);
  const agent = await setting.subagents.spawn({ task: "x" });
  await agent.ended;
  setting.store.delete(agent.childSessionKey);
  const reasons: string[] = [];
  const results = texts(await setting.subagents.results("main", (reason) => reasons.push(reason)));
  assert.match(results.join(), /Its answer, entry \w+ of its session, cannot be read\./);
  assert.match(reasons.join(), /main\/sub-1/);
});
