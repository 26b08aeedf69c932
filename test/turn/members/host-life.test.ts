import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { ContextEngineFactory } from "../../../packages/contract/src/engine/engine.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { recordEngine } from "../../testkit/recorder.ts";
import { eventsOf } from "../in-process.ts";
import { answered, Calls, engineOf, MembersBench, ofType } from "./members-bench.ts";

describe("the life of an engine", () => {
  let bench: MembersBench;
  let order: string[];
  beforeEach(() => {
    order = [];
  });
  afterEach(() => bench.end());

  /** A host with a configuration file, whose engine is created again at each reload. */
  async function fromFile(script: Parameters<typeof MembersBench.open>[0] = answered) {
    bench = await MembersBench.open(script);
    const asked = new Calls();
    let made = 0;
    const factory: ContextEngineFactory = (context) => {
      const number = ++made;
      order.push(`made ${number}`);
      const engine = engineOf(asked, {
        bootstrap: async () => (order.push(`bootstrap ${number}`), { bootstrapped: true }),
        afterTurn: async () => void order.push(`turn ${number}`),
        dispose: async () => void order.push(`disposed ${number}`),
      });
      return recordEngine(engine, context);
    };
    const write = (defaults: Record<string, unknown> = {}): void => {
      const config = bench.config({ defaults });
      const file = join(bench.root, "home", "pagurus.json");
      writeFileSync(file, JSON.stringify({ ...config, plugins: { slots: { contextEngine: "mine" } } }));
    };
    const home = join(bench.root, "home");
    mkdirSync(home, { recursive: true });
    write();
    const pagurus = await bench.start({ more: { config: undefined, engines: { mine: factory } } });
    return { asked, pagurus, write };
  }

  it("begins with the first call that needs it and ends with the host, once, after all sessions", async () => {
    const { pagurus } = await fromFile();
    assert.deepEqual(order, []);
    await bench.ask(pagurus, "One");
    await bench.ask(pagurus, "Other", { sessionKey: "other" });
    await pagurus.close();
    await pagurus.close();
    assert.deepEqual(order, ["made 1", "turn 1", "turn 1", "disposed 1"]);
  });

  it("is not disposed of when it was never created", async () => {
    const { pagurus } = await fromFile();
    await pagurus.close();
    assert.deepEqual(order, []);
  });

  it("ends at a reload, and the new one meets the session as one that existed", async () => {
    const { pagurus } = await fromFile();
    await bench.ask(pagurus, "One");
    await pagurus.reload();
    assert.deepEqual(order, ["made 1", "turn 1", "disposed 1"]);
    await bench.ask(pagurus, "Two");
    await pagurus.close();
    assert.deepEqual(order.slice(3), ["made 2", "bootstrap 2", "turn 2", "disposed 2"]);
    assert.match(JSON.stringify(bench.body(1).messages), /One.*Reply 0\..*Two/);
  });

  it("lasts as long as a running run; a run that comes meanwhile gets the new one", async () => {
    const asked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const { pagurus } = await fromFile(async (request, index) => {
      asked.resolve();
      await gate.promise;
      return answered(request, index);
    });
    const first = eventsOf(pagurus.run({ prompt: "One", cwd: bench.root }));
    await asked.promise;
    let reloaded = false;
    const reloading = pagurus.reload().then(() => {
      reloaded = true;
    });
    const second = eventsOf(pagurus.run({ prompt: "Two", sessionKey: "other", cwd: bench.root }));
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([reloaded, ...order], [false, "made 1"]);
    assert.equal(bench.server.requests.length, 1);
    gate.resolve();
    for (const run of [first, second]) assert.equal((await run).at(-1)?.type, "turn.completed");
    await reloading;
    assert.deepEqual(order, ["made 1", "turn 1", "disposed 1", "made 2", "turn 2"]);
  });

  it("takes new reserve settings at a reload: the budget of the next turn is another", async () => {
    const { asked, pagurus, write } = await fromFile();
    const budget = (): number => asked.last("assemble").tokenBudget ?? 0;
    await bench.ask(pagurus, "One");
    const usual = budget();
    const { tokenBudget: limit } = asked.last("assemble").runtimeContext ?? {};
    assert.equal(limit, usual);
    write({ compaction: { reserveTokens: 24_000, reserveTokensFloor: 0 } });
    await bench.ask(pagurus, "Two");
    assert.equal(budget(), usual, "a file that is not read again changes nothing");
    await pagurus.reload();
    await bench.ask(pagurus, "Three");
    // The floor of 20,000 is above the default reserve of 16,384.
    assert.equal(usual - budget(), 4_000);
    assert.equal((await pagurus.status({ cwd: bench.root })).context.budget, budget());
    await pagurus.compact({ cwd: bench.root });
    assert.equal(asked.last("compact").tokenBudget, budget());
  });

  it("continues with the old one when the new configuration cannot be read", async () => {
    const { pagurus } = await fromFile();
    await bench.ask(pagurus, "One");
    writeFileSync(join(bench.root, "home", "pagurus.json"), "{ not json");
    await assert.rejects(pagurus.reload(), { code: "config_invalid" });
    await bench.ask(pagurus, "Two");
    assert.deepEqual(order, ["made 1", "turn 1", "turn 1"]);
  });

  it("that cannot be disposed of does not stop the host from ending", async () => {
    bench = await MembersBench.open();
    const engine = engineOf(new Calls(), { dispose: () => Promise.reject(new Error("still busy")) });
    const pagurus = await bench.start({ engine });
    await bench.ask(pagurus, "One");
    await pagurus.close();
    assert.equal(bench.logged("engine not disposed").length, 1);
  });
});

describe("deleting a session", () => {
  let bench: MembersBench;
  afterEach(() => bench.end());

  const files = (): string[] => {
    const folder = join(bench.root, "home", "agents", "main");
    return existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : [];
  };

  async function filled(): Promise<Pagurus> {
    bench = await MembersBench.open();
    const engine = engineOf(new Calls(), { afterTurn: async () => undefined });
    const pagurus = await bench.start({ engine });
    await bench.ask(pagurus, "One");
    await pagurus.renew({ reason: "new", cwd: bench.root });
    await bench.ask(pagurus, "Two");
    await bench.ask(pagurus, "Other", { sessionKey: "other" });
    return pagurus;
  }

  it("removes every generation of the key with its receipts and the engine's copies, and no other session", async () => {
    const pagurus = await filled();
    const kept = pagurus.sessions().find("other")?.sessionId ?? "";
    const ids = pagurus
      .sessions()
      .list()
      .map(({ sessionId }) => sessionId)
      .filter((id) => id !== kept);
    assert.equal(ids.length, 2);
    for (const id of ids) assert.ok(files().some((name) => name.includes(id)));
    const { sessions, bytes } = await pagurus.deleteSession({ sessionKey: "main" });
    assert.equal(sessions, 2);
    assert.ok(bytes > 0);
    for (const id of ids)
      assert.deepEqual(
        files().filter((name) => name.includes(id)),
        [],
      );
    assert.ok(files().some((name) => name.includes(kept)));
    assert.deepEqual(pagurus.sessions().search("Two"), []);
  });

  it("is refused for a key without a session, and while a turn runs in it", async () => {
    const asked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    bench = await MembersBench.open(async (request, index) => {
      asked.resolve();
      await gate.promise;
      return answered(request, index);
    });
    const pagurus = await bench.start();
    await assert.rejects(pagurus.deleteSession({ sessionKey: "nobody" }), { code: "session_not_found" });
    const run = eventsOf(pagurus.run({ prompt: "One", cwd: bench.root }));
    await asked.promise;
    await assert.rejects(pagurus.deleteSession({ sessionKey: "main" }), { code: "session_locked" });
    gate.resolve();
    assert.equal(ofType(await run, "turn.completed").length, 1);
    assert.equal((await pagurus.deleteSession({ sessionKey: "main" })).sessions, 1);
  });
});
