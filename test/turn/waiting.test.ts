/** A turn that waits for its subagents, and a host that waits for its turns. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import type { ReplyScript, ReplyStep } from "../servers/server.ts";
import { Bench, eventsOf } from "./in-process.ts";
import { until } from "../runner/until.ts";
import { turns } from "../runner/loop-turns.ts";

const SPAWN: ReplyStep = {
  toolCalls: [{ id: "s1", name: "spawn_agent", arguments: { task: "CHILD TASK" } }],
};
const HANGS: ReplyStep = { text: "working", hangAfterChunks: 1 };

describe("a turn that waits for a subagent", () => {
  let bench: Bench;
  let parentCalls = 0;
  afterEach(() => bench.end());

  async function open(child: ReplyStep, parent: (call: number) => ReplyStep): Promise<void> {
    parentCalls = 0;
    const script: ReplyScript = (request) => {
      const text = JSON.stringify(request.body);
      if (text.includes("CHILD TASK") && !text.includes("PARENT")) return child;
      parentCalls += 1;
      return parent(parentCalls);
    };
    bench = await Bench.with(script);
  }

  async function waitsForChild(): Promise<void> {
    await until(() => parentCalls >= 2);
    await turns(500);
  }

  it("ends as aborted when it is aborted meanwhile, and its child with it", async () => {
    await open(HANGS, (call) => (call === 1 ? SPAWN : { text: "waiting" }));
    const pagurus = await bench.host();
    const run = pagurus.run({ prompt: "PARENT", cwd: bench.root });
    const events = eventsOf(run);
    await waitsForChild();
    run.abort();
    const last = (await events).at(-1);
    assert.ok(last?.type === "turn.completed" && last.stopReason === "aborted", JSON.stringify(last));
    const status = await pagurus.status({ cwd: bench.root });
    assert.equal(status.lastTurn?.outcome, "aborted");
    assert.deepEqual(
      status.subagents.filter(({ state }) => state === "running"),
      [],
    );
  });

  it("ends at its deadline, with that error", async () => {
    await open(HANGS, (call) => (call === 1 ? SPAWN : { text: "waiting" }));
    const pagurus = await bench.host({ defaults: { timeoutSeconds: 2 } });
    const events = await eventsOf(pagurus.run({ prompt: "PARENT", cwd: bench.root }));
    const last = events.at(-1);
    assert.ok(last?.type === "turn.failed" && last.error.code === "turn_deadline", JSON.stringify(last));
  });

  it("answers steering meanwhile", async () => {
    await open(HANGS, (call) => (call === 1 ? SPAWN : { text: `answer ${call}` }));
    const pagurus = await bench.host();
    const run = pagurus.run({ prompt: "PARENT", cwd: bench.root });
    const events = eventsOf(run);
    await waitsForChild();
    assert.equal(run.steer("and what about this?"), true);
    await until(() => parentCalls >= 3);
    const body = bench.body(-1);
    assert.ok(body.messages.some(({ text }) => text.includes("and what about this?")));
    run.abort();
    await events;
  });

  it("receives a result again when no model has answered it", async () => {
    let refused = false;
    await open({ text: "CHILD ANSWER" }, (call) => {
      if (call === 1) return SPAWN;
      const body = JSON.stringify(bench.server.requests.at(-1)?.body);
      if (!refused && body.includes("CHILD ANSWER")) {
        refused = true;
        return { status: 400 };
      }
      return { text: `parent ${call}` };
    });
    const pagurus = await bench.host();
    const [first, second] = [
      await eventsOf(pagurus.run({ prompt: "PARENT one", cwd: bench.root })),
      await eventsOf(pagurus.run({ prompt: "PARENT two", cwd: bench.root })),
    ];
    assert.equal(first.at(-1)?.type, "turn.failed");
    assert.equal(second.at(-1)?.type, "turn.completed");
    assert.ok(bench.body(-1).messages.some(({ text }) => text.includes("CHILD ANSWER")));
    const third = await eventsOf(pagurus.run({ prompt: "PARENT three", cwd: bench.root }));
    assert.equal(third.at(-1)?.type, "turn.completed");
    assert.ok(
      bench.body(-1).messages.every(({ text }) => !text.includes("CHILD ANSWER")),
      "once is enough",
    );
  });
});

describe("a reload", () => {
  let bench: Bench;
  afterEach(() => bench.end());

  it("lets a waiting run be aborted at once", async () => {
    bench = await Bench.with((_request, index) => (index === 0 ? HANGS : { text: "Reply." }));
    const pagurus = await bench.host();
    const slow = pagurus.run({ prompt: "slow", sessionKey: "slow", cwd: bench.root });
    const slowEvents = eventsOf(slow);
    await until(() => bench.server.requests.length !== 0);
    const reloaded = pagurus.reload();
    const waiting = pagurus.run({ prompt: "next", sessionKey: "next", cwd: bench.root });
    const events: Promise<TurnEvent[]> = eventsOf(waiting);
    await turns();
    waiting.abort();
    const last = (await events).at(-1);
    assert.ok(last?.type === "turn.failed" && last.error.code === "turn_aborted", JSON.stringify(last));
    slow.abort();
    await slowEvents;
    await reloaded;
    await bench.ask(pagurus, "after");
  });

  it("of an idle host does not keep new work waiting for what runs", async () => {
    bench = await Bench.with((_request, index) => (index === 0 ? HANGS : { text: "Reply." }));
    const pagurus = await bench.host();
    const slow = pagurus.run({ prompt: "slow", sessionKey: "slow", cwd: bench.root });
    const slowEvents = eventsOf(slow);
    await until(() => bench.server.requests.length !== 0);
    let isReloaded = false;
    const reloaded = pagurus.reload({ whenIdle: true }).then(() => (isReloaded = true));
    const next = await eventsOf(pagurus.run({ prompt: "next", sessionKey: "next", cwd: bench.root }));
    assert.equal(next.at(-1)?.type, "turn.completed");
    assert.equal(isReloaded, false);
    slow.abort();
    await slowEvents;
    await reloaded;
    await bench.ask(pagurus, "after");
  });

  it("waits for children that a caller has started", async () => {
    const reloading = Promise.withResolvers<void>();
    bench = await Bench.with(async () => {
      await reloading.promise;
      return { text: "CHILD ANSWER" };
    });
    const pagurus = await bench.host();
    const child = await pagurus.spawn({ task: "CHILD TASK", cwd: bench.root });
    const reloaded = pagurus.reload();
    await turns();
    reloading.resolve();
    await reloaded;
    assert.deepEqual(await child.ended, { outcome: "completed", text: "CHILD ANSWER" });
  });
});
