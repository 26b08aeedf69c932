import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { statusText } from "../../../packages/host/src/command/status-text.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import { Calls, engineOf, MembersBench } from "./members-bench.ts";

describe("an engine's own status", () => {
  let bench: MembersBench;
  let asked: Calls;
  beforeEach(async () => {
    asked = new Calls();
    bench = await MembersBench.open();
  });
  afterEach(() => bench.end());

  it("receives the session and its budget, and its epoch, trigger and debts are reported", async () => {
    const status: ContextEngine["status"] = async () => ({
      epoch: { id: "ep1", tokens: 1_200, firstKeptEntryId: "e7" },
      trigger: 50_000,
      debts: { count: 3, attempts: 2, nextAt: "2026-01-02T03:04:05.000Z", errorCode: "model_timeout" },
      notes: ["A drawer was set aside; empty it."],
    });
    const pagurus = await bench.start({ engine: engineOf(asked, { status }) });
    await bench.ask(pagurus, "One");
    const report = await pagurus.status({ cwd: bench.root });
    const { sessionId, sessionKey, tokenBudget } = asked.last("status");
    assert.equal(sessionId, report.session?.sessionId);
    assert.equal(sessionKey, "main");
    assert.equal(tokenBudget, report.context.budget);
    const text = statusText(report);
    assert.match(text, /^Note: +A drawer was set aside; empty it\.$/m);
    assert.match(text, /^ +epoch ep1: 1,200 tokens before entry e7; its trigger is 50,000 tokens$/m);
    assert.match(
      text,
      /^Debts: +3 summaries, tried up to 2 times, last failure model_timeout, next try 2026-01-02 03:04:05$/m,
    );
  });

  it("costs a line and nothing else when it fails", async () => {
    const status = (): Promise<never> => Promise.reject(new Error("the drawer is stuck"));
    const pagurus = await bench.start({ engine: engineOf(asked, { status }) });
    const report = await pagurus.status({ cwd: bench.root });
    assert.equal(report.engine.stateProblem, "the drawer is stuck");
    assert.deepEqual(report.problems, []);
    assert.match(statusText(report), /^ +the drawer is stuck$/m);
  });

  it("is absent for an engine without one", async () => {
    const pagurus = await bench.start({ engine: engineOf(asked) });
    const { state, stateProblem } = (await pagurus.status({ cwd: bench.root })).engine;
    assert.deepEqual([state, stateProblem], [undefined, undefined]);
  });
});

describe("maintenance without a turn", () => {
  it("is the engine's background work for the session, and reports its result", async () => {
    const asked = new Calls();
    const bench = await MembersBench.open();
    try {
      const done = { changed: false, bytesFreed: 0, rewrittenEntries: 0, reason: "two shelves tidied" };
      const engine = engineOf(asked, { maintain: async () => done }, { turnMaintenanceMode: "background" });
      const pagurus = await bench.start({ engine });
      await assert.rejects(pagurus.maintain({ cwd: bench.root }), { code: "session_not_found" });
      await bench.ask(pagurus, "One");
      const report = await pagurus.maintain({ cwd: bench.root });
      assert.deepEqual(report, { done: true, reason: "two shelves tidied", degraded: [] });
      const { runtimeContext, sessionKey } = asked.last("maintain");
      assert.equal(sessionKey, "main");
      assert.equal(runtimeContext?.allowDeferredCompactionExecution, true);
    } finally {
      await bench.end();
    }
  });

  it("reports why it fails or that there is none", async () => {
    const bench = await MembersBench.open();
    try {
      const none = await bench.start({ engine: engineOf(new Calls()) });
      await bench.ask(none, "One");
      assert.match((await none.maintain({ cwd: bench.root })).reason ?? "", /no work of its own/);
      const maintain = (): Promise<never> => Promise.reject(new Error("no ladder"));
      const failing = await bench.start({
        engine: engineOf(new Calls(), { maintain }, { turnMaintenanceMode: "background" }),
      });
      const report = await failing.maintain({ cwd: bench.root });
      assert.equal(report.done, false);
      assert.match(report.reason ?? "", /no ladder/);
      assert.equal(report.degraded.length, 1);
    } finally {
      await bench.end();
    }
  });
});
