import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { mirrorPath } from "../../../packages/host/src/turn/engine/engine-files.ts";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { until } from "../../runner/until.ts";
import { readBody, type WireBody } from "../wire-bodies.ts";
import {
  calls,
  Calls,
  engineOf,
  MembersBench,
  ofType,
  requestText,
  type HostSetup,
} from "./members-bench.ts";

const TASK = "Count the lamps.";
const RESULT =
  /<subagent_result session="main\/sub-1" outcome="completed">\nNine lamps\.\n<\/subagent_result>/;

interface Script {
  parent: (body: WireBody, index: number) => ReplyStep | Promise<ReplyStep>;
  child?: (body: WireBody) => ReplyStep | Promise<ReplyStep>;
}

describe("subagents", () => {
  let bench: MembersBench;
  let asked: Calls;
  let parents: WireBody[];
  let children: WireBody[];
  beforeEach(() => {
    asked = new Calls();
    parents = [];
    children = [];
  });
  afterEach(() => bench.end());

  async function opened(
    script: Script,
    members: Partial<ContextEngine> = {},
    plugin?: HostSetup["plugin"],
  ): Promise<Pagurus> {
    bench = await MembersBench.open((request: RecordedRequest) => {
      const body = readBody("openai-completions", request);
      const isChild = body.messages.some(({ role, text }) => role === "user" && text === TASK);
      if (isChild) {
        children.push(body);
        return script.child?.(body) ?? { text: "Nine lamps." };
      }
      return script.parent(body, parents.push(body) - 1);
    });
    const engine = engineOf(asked, {
      prepareSubagentSpawn: async () => ({ rollback: async () => asked.note("rollback", undefined) }),
      onSubagentEnded: async () => undefined,
      ...members,
    });
    return bench.start({ engine, ...(plugin ? { plugin } : {}) });
  }

  /** The engine's calls about children, in order. */
  const about = (): string[] =>
    asked.names.filter((name) => /prepareSubagentSpawn|rollback|onSubagentEnded/.test(name));

  const transcriptOf = (pagurus: Pagurus, key = "main"): string =>
    JSON.stringify(bench.entries(pagurus, key));

  const spawning = (context?: string): ReplyStep =>
    calls("spawn_agent", { task: TASK, ...(context === undefined ? {} : { context }) });

  it("of a model's call: the engine is notified before the child exists, the result is a message of the turn", async () => {
    let existed = true;
    let host: Pagurus | undefined;
    const pagurus = await opened(
      { parent: (_body, index) => (index === 0 ? spawning() : { text: `Parent ${index}.` }) },
      {
        prepareSubagentSpawn: async ({ childSessionKey }) => {
          existed = host?.sessions().find(childSessionKey) !== undefined;
          return undefined;
        },
      },
    );
    host = pagurus;
    const events = await bench.ask(pagurus, "One");
    assert.equal(existed, false);
    const parent = pagurus.sessions().find("main");
    const child = pagurus.sessions().find("main/sub-1");
    assert.ok(parent && child);
    assert.deepEqual(asked.of("prepareSubagentSpawn"), [
      {
        parentSessionKey: "main",
        childSessionKey: "main/sub-1",
        contextMode: "isolated",
        parentSessionId: parent.sessionId,
        parentSessionFile: mirrorPath(parent.file),
        childSessionId: child.sessionId,
        childSessionFile: mirrorPath(child.file),
        ttlMs: 3_600_000,
      },
    ]);
    assert.deepEqual(asked.of("onSubagentEnded"), [{ childSessionKey: "main/sub-1", reason: "completed" }]);
    assert.match(requestText(parents.at(-1) ?? never()), RESULT);
    assert.deepEqual(
      events.flatMap((event) => (event.type.startsWith("subagent.") ? [event] : [])),
      [
        { type: "subagent.started", childSessionKey: "main/sub-1", contextMode: "isolated", depth: 1 },
        { type: "subagent.ended", childSessionKey: "main/sub-1", outcome: "completed" },
      ],
    );
    assert.ok(!transcriptOf(pagurus).includes("<subagent_result"), "it is written to no transcript");
    assert.match(transcriptOf(pagurus, "main/sub-1"), /Nine lamps/);
    const before = parents.length;
    await bench.ask(pagurus, "Two");
    assert.doesNotMatch(requestText(parents[before] ?? never()), /subagent_result/);
  });

  it("that still run keep their turn open: it continues with the result when they end", async () => {
    const spoken = Promise.withResolvers<void>();
    const pagurus: Pagurus = await opened({
      parent: (_body, index) => {
        if (index === 0) return spawning();
        // The child answers only after the parent's last output without it.
        if (index === 1)
          void until(() => transcriptOf(pagurus).includes("Parent 1.")).then(spoken.resolve, spoken.reject);
        return { text: `Parent ${index}.` };
      },
      child: async () => {
        await spoken.promise;
        return { text: "Nine lamps." };
      },
    });
    await bench.ask(pagurus, "One");
    assert.equal(parents.length, 3);
    const texts = parents[2]?.messages.map(({ text }) => text) ?? [];
    assert.equal(texts.at(-2), "Parent 1.");
    assert.match(texts.at(-1) ?? "", RESULT);
    assert.equal(parents[2]?.messages.at(-1)?.role, "user");
    assert.deepEqual(about(), ["prepareSubagentSpawn", "onSubagentEnded"]);
  });

  it("that are forks know the conversation before the turn, isolated ones only their task", async () => {
    const pagurus = await opened({
      parent: (_body, index) =>
        index === 1
          ? {
              toolCalls: [
                { id: "c1", name: "spawn_agent", arguments: { task: TASK, context: "fork" } },
                { id: "c2", name: "spawn_agent", arguments: { task: TASK } },
              ],
            }
          : { text: `Parent ${index}.` },
    });
    await bench.ask(pagurus, "One");
    await bench.ask(pagurus, "Two");
    const seen = children.map(({ messages }) => messages.map(({ text }) => text).join("|")).toSorted();
    assert.deepEqual(seen, [TASK, `One|Parent 0.|${TASK}`].toSorted());
    const modes = asked.of("prepareSubagentSpawn").map(({ contextMode = "" }) => contextMode);
    assert.deepEqual(new Set(modes), new Set(["fork", "isolated"]));
    assert.equal(asked.of("onSubagentEnded").length, 2);
  });

  for (const contextMode of ["isolated", "fork"] as const) {
    it(`of a library call (${contextMode}): the result enters the parent's next turn, and no transcript`, async () => {
      const pagurus = await opened({ parent: (_body, index) => ({ text: `Parent ${index}.` }) });
      await bench.ask(pagurus, "One");
      const child = await pagurus.spawn({ task: TASK, contextMode, ttlMs: 60_000, cwd: bench.root });
      assert.deepEqual(await child.ended, { outcome: "completed", text: "Nine lamps." });
      assert.deepEqual(
        children[0]?.messages.map(({ text }) => text),
        contextMode === "fork" ? ["One", "Parent 0.", TASK] : [TASK],
      );
      const prepared = asked.last("prepareSubagentSpawn");
      assert.deepEqual([prepared.contextMode, prepared.ttlMs], [contextMode, 60_000]);
      assert.equal(prepared.childSessionId, child.childSessionId);
      const waiting = (await pagurus.status({ cwd: bench.root })).subagents;
      assert.deepEqual(
        waiting.map(({ childSessionKey, state }) => [childSessionKey, state]),
        [[child.childSessionKey, "ended"]],
      );
      await bench.ask(pagurus, "Two");
      assert.match(requestText(parents[1] ?? never()), RESULT);
      assert.ok(!transcriptOf(pagurus).includes("<subagent_result"));
      await bench.ask(pagurus, "Three");
      assert.doesNotMatch(requestText(parents[2] ?? never()), /subagent_result/);
      assert.deepEqual((await pagurus.status({ cwd: bench.root })).subagents, []);
    });
  }

  it("whose spawn fails after the engine has prepared: the engine rolls back, nothing is left", async () => {
    let host: Pagurus | undefined;
    const pagurus = await opened(
      { parent: (_body, index) => (index === 0 ? spawning() : { text: "Then not." }) },
      {
        prepareSubagentSpawn: async ({ childSessionKey }) => {
          // Another caller takes the key meanwhile.
          host?.sessions().create(childSessionKey, { cwd: bench.root });
          return { rollback: async () => asked.note("rollback", childSessionKey) };
        },
      },
    );
    host = pagurus;
    const events = await bench.ask(pagurus, "One");
    assert.deepEqual(about(), ["prepareSubagentSpawn", "rollback"]);
    assert.equal(ofType(events, "subagent.started").length, 0);
    assert.equal(ofType(events, "tool.completed")[0]?.outcome.isError, true);
    assert.equal(children.length, 0);
    assert.deepEqual((await pagurus.status({ cwd: bench.root })).subagents, []);
    assert.equal(bench.entries(pagurus, "main/sub-1").length, 0, "the other session stands as it was");
  });

  it("that the engine refuses are not started, and the model gets the reason", async () => {
    const pagurus = await opened(
      { parent: (_body, index) => (index === 0 ? spawning() : { text: "Then not." }) },
      {
        prepareSubagentSpawn: async () => {
          throw new Error("no room for children");
        },
      },
    );
    await bench.ask(pagurus, "One");
    assert.match(requestText(parents[1] ?? never()), /no room for children/);
    assert.deepEqual(about(), ["prepareSubagentSpawn"]);
    assert.equal(pagurus.sessions().list().length, 1);
  });

  /** A child that runs until it is stopped. */
  async function hanging(more: { ttlMs?: number } = {}, plugin?: HostSetup["plugin"]) {
    const running = Promise.withResolvers<void>();
    const script: Script = {
      parent: (_body, index) => ({ text: `Parent ${index}.` }),
      child: () => {
        running.resolve();
        return { text: "Counting the lamps.", hangAfterChunks: 2 };
      },
    };
    const pagurus = await opened(script, {}, plugin);
    await bench.ask(pagurus, "One");
    const child = await pagurus.spawn({ task: TASK, cwd: bench.root, ...more });
    await Promise.race([running.promise, child.ended]);
    return { pagurus, child };
  }

  it("that are released end, and the engine is notified", async () => {
    const { pagurus, child } = await hanging();
    await child.release();
    assert.equal((await child.ended).outcome, "aborted");
    assert.deepEqual(asked.of("onSubagentEnded"), [{ childSessionKey: "main/sub-1", reason: "released" }]);
    await child.release();
    await pagurus.close();
    assert.equal(asked.of("onSubagentEnded").length, 1, "once");
  });

  it("past their time-to-live are swept", async () => {
    const { child } = await hanging({ ttlMs: 700 });
    assert.equal((await child.ended).outcome, "aborted");
    assert.deepEqual(asked.of("onSubagentEnded"), [{ childSessionKey: "main/sub-1", reason: "swept" }]);
  });

  it("are deleted with their session: the engine is notified, every file is gone", async () => {
    const ended: [string, string][] = [];
    const { pagurus, child } = await hanging({}, (api) =>
      api.on("session_end", ({ reason }, { sessionKey }) => void ended.push([sessionKey, reason])),
    );
    const files = ["main", "main/sub-1"].map((key) => pagurus.sessions().find(key)?.file ?? "");
    for (const file of files) assert.ok(existsSync(file), file);
    const deleted = await pagurus.deleteSession({ sessionKey: "main" });
    assert.equal((await child.ended).outcome, "aborted");
    assert.equal(deleted.sessions, 2);
    assert.ok(deleted.bytes > 0);
    assert.deepEqual(asked.of("onSubagentEnded"), [{ childSessionKey: "main/sub-1", reason: "deleted" }]);
    for (const file of files) assert.equal(existsSync(file), false);
    const { parentSessionFile = "", childSessionFile = "" } = asked.last("prepareSubagentSpawn");
    for (const file of [parentSessionFile, childSessionFile]) assert.equal(existsSync(file), false);
    assert.deepEqual(pagurus.sessions().list(), []);
    assert.deepEqual(ended, [
      ["main/sub-1", "deleted"],
      ["main", "deleted"],
    ]);
    await bench.ask(pagurus, "Anew");
    assert.deepEqual(
      parents.at(-1)?.messages.map(({ text }) => text),
      ["Anew"],
    );
    await pagurus.close();
    assert.deepEqual(ended.slice(2), [["main", "shutdown"]], "what is deleted does not end again");
  });

  it("are released with their parent's turn when that is aborted", async () => {
    const running = Promise.withResolvers<void>();
    const pagurus = await opened({
      parent: (_body, index) => (index === 0 ? spawning() : { text: `Parent ${index}.` }),
      child: () => {
        running.resolve();
        return { text: "Counting the lamps.", hangAfterChunks: 2 };
      },
    });
    const run = pagurus.run({ prompt: "One", cwd: bench.root });
    void running.promise.then(() => run.abort());
    for await (const event of run) void event;
    assert.deepEqual(asked.of("onSubagentEnded"), [{ childSessionKey: "main/sub-1", reason: "released" }]);
  });
});

function never(): never {
  throw new Error("there was no such request");
}
