import assert from "node:assert/strict";
import { test } from "node:test";
import { isCommand, runCommand, SLASH_COMMANDS } from "../../src/command/run-command.ts";
import type { CommandContext } from "../../src/command/types.ts";
import { FakePagurus, FakeStore, part, receipt, statusReport, type Script } from "../cli/fake-pagurus.ts";
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
  for (const command of SLASH_COMMANDS) {
    const lines = text.split("\n").filter((line) => line.startsWith(`/${command.name} `));
    assert.equal(lines.length, 1, command.name);
  }
});

test("an unknown command is answered with a hint", async () => {
  assert.match((await runCommand("/modle x", context())).text, /Did you mean \/model\?/);
  assert.match((await runCommand("/frobnicate", context())).text, /\/help lists the commands/);
});

test("/new and /reset renew the session and tell the channel", async () => {
  const where = context();
  assert.deepEqual((await runCommand("/new", where)).effects, [{ type: "renewed", sessionId: "renewed" }]);
  await runCommand("/reset", where);
  assert.deepEqual(where.pagurus.renewed, ["new", "reset"]);
});

test("/compact passes the focus on and tells the sizes or the reason", async () => {
  const done = context({
    compact: (request) => {
      assert.equal(request.focus, "the parser");
      return Promise.resolve({ compacted: true, tokensBefore: 12_000, tokensAfter: 3_000 });
    },
  });
  assert.match((await runCommand("/compact the parser", done)).text, /12,000 → 3,000 tokens/);
  const refused = context({ compact: () => Promise.resolve({ compacted: false, reason: "Too short." }) });
  assert.equal((await runCommand("/compact", refused)).text, "Not compacted: Too short.");
});

test("/undo goes to before the newest turn, what was typed during it included", async () => {
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
  assert.match(text, /Undone: "second"\. Files are as they are now/);
});

test("/undo of the only turn empties the conversation; entries without turn ids work as well", async () => {
  const store = new FakeStore(new Entries().say("user", "only").say("assistant", "x").all);
  await runCommand("/undo", context({ store }));
  assert.deepEqual(store.rewinds, [null]);
});

test("/undo goes back over a compaction that stands after the turn", async () => {
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

test("/rewind lists where to, takes an entry or the start, and refuses an unknown one", async () => {
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

test("/model shows, chooses and refuses what is no ref", async () => {
  assert.match((await runCommand("/model", context())).text, /^offline\/extract \(default\)/);
  assert.match((await runCommand("/model", context({}, { model: "a/b" }))).text, /^a\/b, chosen here/);
  assert.deepEqual((await runCommand("/model a/b:free", context())).effects, [
    { type: "model", model: "a/b:free" },
  ]);
  assert.deepEqual((await runCommand("/model default", context())).effects, [{ type: "model" }]);
  const refused = await runCommand("/model gpt", context());
  assert.deepEqual(refused.effects, []);
  assert.match(refused.text, /not a model ref/);
});

test("/status keeps execution and runtime apart and names what went wrong", async () => {
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

test("/exit only tells the channel", async () => {
  assert.deepEqual(await runCommand("/quit", context()), { text: "", effects: [{ type: "exit" }] });
});
