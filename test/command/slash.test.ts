import assert from "node:assert/strict";
import { test } from "node:test";
import { commandsOf, isCommand, runCommand } from "../../packages/host/src/command/host-command.ts";
import type { CommandContext } from "../../packages/host/src/command/command-types.ts";
import {
  FakePagurus,
  FakeStore,
  part,
  receipt,
  record,
  statusReport,
  type Script,
} from "../cli/fake-pagurus.ts";
import { Entries } from "./entries.ts";

function context(
  script: Script = {},
  more: Partial<CommandContext> = {},
): CommandContext & { pagurus: FakePagurus } {
  return { sessionKey: "main", agentId: "main", cwd: "/", ...more, pagurus: new FakePagurus(script) };
}

test("a command is a slash and a word; paths, doubled slashes and prose are not", () => {
  for (const line of ["/help", "/?", "/compact the tests", "/Status"])
    assert.equal(isCommand(line), true, line);
  for (const line of ["/etc/hosts", "//help", "/ help", "help", "a /help", "/2", ""]) {
    assert.equal(isCommand(line), false, line);
  }
});

test("/help lists every command once", async () => {
  const { text } = await runCommand("/help", context());
  for (const command of commandsOf("terminal")) {
    const lines = text.split("\n").filter((line) => line.startsWith(`/${command.name} `));
    assert.equal(lines.length, 1, command.name);
  }
});

test("commands of plugins are listed and run after ours, which keep their names", async () => {
  const where = context({ commands: { knot: (args) => `tied ${args}`, status: () => "not this one" } });
  const { text } = await runCommand("/help", where);
  assert.equal(text.match(/^\/knot +Does knot\.$/gm)?.length, 1);
  assert.equal(text.match(/^\/status /gm)?.length, 1);
  assert.equal((await runCommand("/knot  the rope ", where)).text, "tied the rope");
  assert.match((await runCommand("/status", where)).text, /^Home:/);
  assert.match((await runCommand("/knott", where)).text, /Did you mean \/knot\?/);
});

test("an unknown command is answered with a hint", async () => {
  assert.match((await runCommand("/modle x", context())).text, /Did you mean \/model\?/);
  assert.match((await runCommand("/frobnicate", context())).text, /\/help lists the commands/);
});

test("/new and /reset renew the session and notify the channel", async () => {
  const where = context();
  assert.deepEqual((await runCommand("/new", where)).effects, [{ type: "renewed", sessionId: "renewed" }]);
  await runCommand("/reset", where);
  assert.deepEqual(where.pagurus.renewed, ["new", "reset"]);
});

test("/compact passes on the focus and reports the sizes or the reason", async () => {
  const done = context({
    compact: (request) => {
      assert.equal(request.focus, "the parser");
      return Promise.resolve({ compacted: true, tokensBefore: 12_000, tokensAfter: 3_000, degraded: [] });
    },
  });
  assert.match((await runCommand("/compact the parser", done)).text, /12,000 → 3,000 tokens \(saved 9,000\)/);
  const refused = context({
    compact: () => Promise.resolve({ compacted: false, reason: "Too short.", degraded: [] }),
  });
  assert.equal((await runCommand("/compact", refused)).text, "Not compacted: Too short.");
});

test("/undo removes the newest turn, with the input typed during it", async () => {
  const entries = new Entries()
    .say("user", "first", "t1")
    .say("assistant", "one", "t1")
    .commit("t1")
    .fragment("a fragment", "t2")
    .say("user", "second", "t2")
    .say("assistant", "two", "t2")
    .say("user", "and also", "t2")
    .say("assistant", "three", "t2")
    .commit("t2");
  const store = new FakeStore(entries.all);
  const { text } = await runCommand("/undo", context({ store }));
  assert.deepEqual(store.rewinds, ["e3"]);
  assert.match(text, /Undone: "second"\. Files are unchanged/);
});

test("/undo of the only turn empties the conversation; entries without turn ids work as well", async () => {
  const store = new FakeStore(new Entries().say("user", "only").say("assistant", "x").all);
  await runCommand("/undo", context({ store }));
  assert.deepEqual(store.rewinds, [null]);
});

test("/undo goes back past a compaction after the turn", async () => {
  const entries = new Entries()
    .say("user", "first", "t1")
    .commit("t1")
    .say("user", "second", "t2")
    .commit("t2")
    .compaction("what was said");
  const store = new FakeStore(entries.all);
  await runCommand("/undo", context({ store }));
  assert.deepEqual(store.rewinds, ["e2"]);
});

test("/undo without a turn is a clear error", async () => {
  await assert.rejects(runCommand("/undo", context()), {
    code: "entry_not_found",
    message: /has no turn to undo/,
  });
});

test("/rewind lists its targets, takes an entry or the start, and refuses an unknown one", async () => {
  const entries = new Entries()
    .say("user", "first", "t1")
    .commit("t1")
    .say("user", "second", "t2")
    .commit("t2");
  const store = new FakeStore(entries.all);
  const list = (await runCommand("/rewind", context({ store }))).text.split("\n").slice(1);
  assert.deepEqual(list, ['e2  before "second"', 'start  before "first"']);
  await runCommand("/rewind e2", context({ store }));
  await runCommand("/rewind start", context({ store }));
  assert.deepEqual(store.rewinds, ["e2", null]);
  await assert.rejects(runCommand("/rewind nope", context({ store })), { code: "entry_not_found" });
});

test("/model shows and sets the model, and refuses an invalid ref", async () => {
  assert.match((await runCommand("/model", context())).text, /^offline\/extract \(default\)/);
  assert.match((await runCommand("/model", context({}, { model: "a/b" }))).text, /^a\/b, chosen here/);
  assert.deepEqual((await runCommand("/model a/b:free", context())).effects, [
    { type: "model", model: "a/b:free" },
  ]);
  assert.deepEqual((await runCommand("/model default", context())).effects, [{ type: "model" }]);
  const refused = await runCommand("/model gpt", context());
  assert.deepEqual(refused.effects, []);
  assert.match(refused.text, /neither a model ref nor an alias/);
});

test("/status keeps execution and runtime apart and lists problems", async () => {
  const status = statusReport({
    engine: { ...statusReport().engine, selected: "lossless", effective: "legacy" },
    degraded: [
      {
        stage: "assemble",
        reason: "threw",
        engineId: "lossless",
        turnId: "t3",
        timestamp: "2026-01-02T03:04:05.000Z",
      },
    ],
    interruptedTurns: ["t2"],
    lastTurn: { turnId: "t3", outcome: "failed", code: "model_unavailable" },
  });
  const lines = (await runCommand("/status", context({ status }))).text.split("\n");
  assert.ok(lines.includes("Execution:   in process"));
  assert.ok(lines.includes("Runtime:     embedded (default)"));
  assert.ok(lines.some((line) => /^Engine: +lossless, effective: legacy /.test(line)));
  assert.ok(lines.some((line) => /^Context: +█{10}░{10} 50 % {2}8,000 of 16,000/.test(line)));
  assert.ok(lines.some((line) => /^Last turn: +failed \[model_unavailable\] \(t3\)/.test(line)));
  assert.ok(lines.some((line) => line.startsWith("Interrupted turn: t2")));
  assert.ok(lines.some((line) => line.startsWith("Degraded: assemble, threw")));
});

test("/status shows the next compaction, its threshold and past compactions", async () => {
  const fact = {
    entryId: "e9",
    timestamp: "2026-01-02T03:04:05.000Z",
    lane: "in-attempt",
    trigger: "threshold",
    handledBy: "lossless",
    tokensBefore: 182_000,
    tokensAfter: 41_000,
  } as const;
  const old = { entryId: "e1", timestamp: "2025-01-02T03:04:05.000Z", tokensBefore: 9_000 };
  const status = statusReport({
    context: { tokens: 84_000, budget: 200_000, next: { lane: "queued", handler: "lossless" } },
    compactions: 12,
    recentCompactions: [fact, { ...fact, lane: "queued", trigger: "manual" }, old],
  });
  const { text } = await runCommand("/status", context({ status }));
  assert.ok(
    text.includes(
      `Context:     ████████░░░░░░░░░░░░ 42 %  84,000 of 200,000 tokens, estimated
Compacts:    at 200,000 tokens, by lossless, between turns
Compacted:   12 times
             2026-01-02 03:04:05  inside a turn, threshold, by lossless: 182,000 → 41,000 tokens
             2026-01-02 03:04:05  between turns, manual, by lossless: 182,000 → 41,000 tokens
             2025-01-02 03:04:05  9,000 tokens
             … and 9 earlier
Permission:`,
    ),
    text,
  );
});

test("/status lists at most five compactions, and reports where none is automatic", async () => {
  const fact = { entryId: "e1", timestamp: "2025-01-02T03:04:05.000Z", tokensBefore: 9_000 };
  const status = statusReport({ compactions: 10, recentCompactions: Array.from({ length: 10 }, () => fact) });
  const { text } = await runCommand("/status", context({ status }));
  assert.equal(text.match(/9,000 tokens/g)?.length, 5);
  assert.match(text, /^Compacts: {4}not automatically$/m);
  assert.match(text, /^ +… and 5 earlier$/m);
  const calm = (await runCommand("/status", context())).text;
  assert.match(calm, /^Compacted: {3}never$/m);
  const unknown = statusReport({ context: { tokens: 10, budget: 0 } });
  assert.doesNotMatch((await runCommand("/status", context({ status: unknown }))).text, /^Compacts:/m);
});

test("/status shows memory, subagents, the engine's compaction, costs and limits", async () => {
  const child = {
    childSessionKey: "main:subagent:1",
    contextMode: "isolated",
    state: "running",
    depth: 1,
    expiresAt: "2026-01-02T03:04:05.000Z",
  } as const;
  const status = statusReport({
    engine: { ...statusReport().engine, ownsCompaction: true, interceptsCompaction: true },
    memory: { selected: "files", effective: "none" },
    subagents: [child, { ...child, childSessionKey: "main:subagent:2", contextMode: "fork", state: "swept" }],
    cost: { turn: 0.0123, session: 1.5, limits: { turn: 1, day: 20 } },
  });
  const lines = (await runCommand("/status", context({ status }))).text.split("\n");
  for (const line of [
    "Engine:      legacy (default; pagurus.engine/1, classic; owns compaction, intercepts compaction)",
    "Memory:      files, effective: none",
    "Subagents:   2 (1 running)",
    "             main:subagent:1  isolated, depth 1, running, until 2026-01-02 03:04:05",
    "             main:subagent:2  fork, depth 1, ended at its time limit, its result waits for the next turn",
    "Cost:        last turn $0.012, session $1.50",
    "Cost limits: turn $1.00, day $20.00",
  ])
    assert.ok(lines.includes(line), `${line}\n${lines.join("\n")}`);
  const calm = (await runCommand("/status", context())).text;
  assert.match(calm, /^Memory: {6}files$/m);
  assert.doesNotMatch(calm, /Subagents|Cost|owns/);
});

test("/cost reports unknown prices", async () => {
  const without = statusReport({ session: record("main") });
  assert.match((await runCommand("/cost", context({ status: without }))).text, /^The cost is not known/);
  const status = statusReport({ cost: { limits: { session: 2 } } });
  assert.equal(
    (await runCommand("/cost", context({ status }))).text,
    "Cost: unknown, because the model's prices are unknown\nCost limits: session $2.00",
  );
});

test("/context shows the newest request and compares the last two", async () => {
  const receipts = [
    receipt({ turnId: "t1", parts: [part({ hash: "a" })] }),
    receipt({
      turnId: "t2",
      parts: [part({ hash: "a" }), part({ hash: "b", entryId: "e9" })],
      sharedParts: 1,
    }),
  ];
  const store = new FakeStore(new Entries().say("user", "x", "t1").commit("t1").say("user", "y", "t2").all);
  const where = context({ receipts, store });
  assert.match((await runCommand("/context", where)).text, /^Request 0 of turn t2/);
  assert.match((await runCommand("/context diff", where)).text, /\+ history user e9, 10 tokens/);
  assert.match((await runCommand("/context nonsense", where)).text, /Say \/context show/);
});

test("/exit only notifies the channel", async () => {
  assert.deepEqual(await runCommand("/quit", context()), { text: "", effects: [{ type: "exit" }] });
});
