import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { methods, type SessionUpdate } from "@agentclientprotocol/sdk";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import type { Bench } from "../turn/in-process.ts";
import { benchWith, Editor } from "./acp-bench.ts";
import { longTest } from "../runner/long-tests.ts";
import { until } from "../runner/until.ts";

const session = methods.agent.session;

/** The error of a refused request. */
async function refusal(work: Promise<unknown>): Promise<{ code: number; message: string; data: unknown }> {
  try {
    await work;
  } catch (error) {
    const { code, message, data } = error as { code: number; message: string; data: unknown };
    return { code, message, data };
  }
  throw new Error("The request was not refused.");
}

describe("an editor that talks to Pagurus", () => {
  let bench: Bench;
  let editor: Editor;
  afterEach(async () => {
    await editor.leave();
    await bench.end();
  });

  it("gets the agent's name and capabilities", async () => {
    bench = await benchWith([]);
    editor = await Editor.on(bench);
    const { agentInfo, agentCapabilities, protocolVersion } = await editor.hello;
    assert.deepEqual([agentInfo?.name, agentInfo?.version, protocolVersion], ["pagurus", "1.2.3", 1]);
    assert.deepEqual(agentCapabilities?.promptCapabilities, { image: true, embeddedContext: true });
    assert.equal(agentCapabilities?.loadSession, true);
    const { list, resume, close, delete: erase } = agentCapabilities?.sessionCapabilities ?? {};
    assert.deepEqual([list, resume, close, erase], [{}, {}, {}, {}]);
  });

  it("sees thoughts, text, usage, a title and the commands of a turn", async () => {
    bench = await benchWith([{ thinking: { text: "Let me see." }, text: "Hello 🦀 there.", chunkSize: 7 }]);
    editor = await Editor.on(bench, { model: { reasoning: true } });
    const id = await editor.session(bench.root);
    assert.match(id, /^acp:[0-9a-z]{16}$/);
    const answer = await editor.prompt(id, "Say hello to\nthe crab");
    assert.equal(answer.stopReason, "end_turn");
    assert.equal(editor.textOf("agent_message_chunk"), "Hello 🦀 there.");
    assert.equal(editor.textOf("agent_thought_chunk"), "Let me see.");
    assert.ok(editor.of("agent_message_chunk").length > 1, "streams");
    assert.equal(editor.of("session_info_update")[0]?.title, "Say hello to the crab");
    const usage = editor.of("usage_update").at(-1);
    assert.equal(usage?.size, 100_000);
    assert.ok((usage?.used ?? 0) > 0);
    const commands =
      editor.of("available_commands_update")[0]?.availableCommands.map(({ name }) => name) ?? [];
    assert.ok(commands.includes("compact") && commands.includes("status"), commands.join());
    assert.ok(!commands.includes("exit"));
    const { pagurus } = (answer as { _meta?: { pagurus?: Record<string, unknown> } })._meta ?? {};
    assert.deepEqual(
      [pagurus?.["runtime"], pagurus?.["seam"], pagurus?.["model"]],
      ["embedded", "embedded", "test/model"],
    );
  });

  it("shows a call with its file, asks before it runs, and shows what it changed", async () => {
    bench = await benchWith([
      { toolCalls: [{ id: "c1", name: "write", arguments: { path: "a.txt", content: "new\n" } }] },
      {
        toolCalls: [
          { id: "c2", name: "edit", arguments: { path: "a.txt", old_text: "new", new_text: "newer" } },
        ],
      },
      { toolCalls: [{ id: "c3", name: "shell", arguments: { command: "echo refused > b.txt" } }] },
      { text: "Done." },
    ]);
    editor = await Editor.on(bench, { defaults: { permission: { mode: "ask" } } });
    const file = join(bench.root, "a.txt");
    writeFileSync(file, "old\n");
    editor.answer = ({ toolCall }) => ({
      outcome: { outcome: "selected", optionId: toolCall.kind === "execute" ? "deny" : "once" },
    });
    const id = await editor.session(bench.root);
    await editor.prompt(id, "Change the file.");
    assert.equal(readFileSync(file, "utf8"), "newer\n");
    assert.deepEqual(
      editor.asked.map(({ toolCall, options }) => [
        toolCall.toolCallId,
        toolCall.kind,
        options.map(({ kind }) => kind),
      ]),
      ["c1", "c2", "c3"].map((call) => [
        call,
        call === "c3" ? "execute" : "edit",
        ["allow_once", "allow_always", "reject_once"],
      ]),
    );
    const [write, edit, shell] = editor.of("tool_call");
    assert.deepEqual([write?.title, write?.locations], ["write a.txt", [{ path: file }]]);
    assert.deepEqual(edit?.content, [{ type: "diff", path: file, oldText: "new", newText: "newer" }]);
    assert.deepEqual([shell?.title, shell?.kind], ["echo refused > b.txt", "execute"]);
    const ended = editor
      .of("tool_call_update")
      .filter(({ status }) => status === "completed" || status === "failed");
    assert.deepEqual(
      ended.map(({ toolCallId, status }) => [toolCallId, status]),
      [
        ["c1", "completed"],
        ["c2", "completed"],
        ["c3", "failed"],
      ],
    );
    assert.deepEqual(ended[0]?.content, [{ type: "diff", path: file, oldText: "old\n", newText: "new\n" }]);
    assert.match(JSON.stringify(ended[2]?.content), /the user said no/);
    const calls = editor.updates.map(({ update }) => update.sessionUpdate);
    assert.ok(calls.indexOf("tool_call") < calls.indexOf("tool_call_update"));
  });

  it("is not asked again for what it always allows", async () => {
    const touch = (id: string) => ({
      toolCalls: [{ id, name: "write", arguments: { path: "x", content: id } }],
    });
    bench = await benchWith([touch("c1"), touch("c2"), { text: "Done." }]);
    editor = await Editor.on(bench, { defaults: { permission: { mode: "ask" } } });
    editor.answer = () => ({ outcome: { outcome: "selected", optionId: "always" } });
    await editor.prompt(await editor.session(bench.root), "Write twice.");
    assert.equal(editor.asked.length, 1);
    assert.match(editor.asked[0]?.options[1]?.name ?? "", /^Always allow write/);
  });

  it("cancels at once, keeps the partial text, and continues", async () => {
    bench = await benchWith([
      { text: "The beginning of a long answer.", chunkSize: 10, hangAfterChunks: 3 },
      { text: "Again." },
    ]);
    editor = await Editor.on(bench);
    const id = await editor.session(bench.root);
    editor.watch = (update: SessionUpdate) => {
      if (update.sessionUpdate !== "agent_message_chunk") return;
      editor.watch = () => undefined;
      void editor.agent.notify(session.cancel, { sessionId: id });
    };
    const waiting = editor.prompt(id, "Talk.");
    const queued = editor.prompt(id, "And then?");
    assert.equal((await waiting).stopReason, "cancelled");
    assert.equal((await queued).stopReason, "cancelled");
    const partial = editor.textOf("agent_message_chunk");
    assert.ok(partial.startsWith("The beginn"), partial);
    assert.equal((await editor.prompt(id, "Go on.")).stopReason, "end_turn");
    assert.ok(JSON.stringify(bench.body(-1)).includes("The beginn"), "the model gets its own partial answer");
  });

  it("asks in the session whose turn or subagent waits, and a cancel closes the question", async () => {
    const shell = (id: string) => ({ toolCalls: [{ id, name: "shell", arguments: { command: "true" } }] });
    bench = await benchWith(({ text }) => {
      if (text.includes('"tool_call_id"')) return { text: "Done." };
      if (text.includes("The task.")) return shell("child");
      if (text.includes("Delegate."))
        return { toolCalls: [{ id: "spawn", name: "spawn_agent", arguments: { task: "The task." } }] };
      return shell("own");
    });
    editor = await Editor.on(bench, { defaults: { permission: { mode: "ask" } } });
    const [first, second] = [await editor.session(bench.root), await editor.session(bench.root)];
    const open = Promise.withResolvers<void>();
    editor.answer = ({ toolCall, sessionId }) => {
      if (sessionId === first && toolCall.toolCallId === "child")
        return { outcome: { outcome: "selected", optionId: "once" } };
      open.resolve();
      return new Promise(() => undefined);
    };
    const waiting = editor.prompt(second, "Do it.");
    assert.equal((await editor.prompt(first, "Delegate.")).stopReason, "end_turn");
    await open.promise;
    await editor.agent.notify(session.cancel, { sessionId: second });
    assert.equal((await waiting).stopReason, "cancelled");
    assert.deepEqual(
      editor.asked.map(({ sessionId, toolCall }) => `${sessionId} ${toolCall.toolCallId}`).toSorted(),
      [`${first} child`, `${second} own`].toSorted(),
    );
  });

  it("gets the reason why a turn ended, and its plan", async () => {
    const items = [
      { step: "Look", status: "completed" },
      { step: "Mend", status: "in_progress" },
    ];
    const plan = { toolCalls: [{ id: "p", name: "update_plan", arguments: { plan: items } }] };
    bench = await benchWith([
      { text: "Too lo", stop: "length" },
      { text: "", stop: "refused" },
      plan,
      { toolCalls: [{ id: "c", name: "glob", arguments: { pattern: "x" } }] },
    ]);
    editor = await Editor.on(bench, { defaults: { maxSteps: 2 } });
    const id = await editor.session(bench.root);
    const reasons: string[] = [];
    for (const prompt of ["one", "two", "three"]) reasons.push((await editor.prompt(id, prompt)).stopReason);
    assert.deepEqual(reasons, ["max_tokens", "refusal", "max_turn_requests"]);
    assert.deepEqual(
      editor
        .of("plan")
        .at(-1)
        ?.entries.map(({ content, status }) => [content, status]),
      [
        ["Look", "completed"],
        ["Mend", "in_progress"],
      ],
    );
  });

  it("queues its second prompt until the first is done", async () => {
    bench = await benchWith([{ text: "First.", delayMs: 5 }, { text: "Second." }]);
    editor = await Editor.on(bench);
    const id = await editor.session(bench.root);
    const ended: string[] = [];
    const ask = async (text: string) => {
      await editor.prompt(id, text);
      ended.push(editor.textOf("agent_message_chunk"));
    };
    await Promise.all([ask("one"), ask("two")]);
    assert.deepEqual(ended, ["First.", "First.Second."]);
  });

  it("sends images, links and embedded files to the model", async () => {
    bench = await benchWith([{ text: "Seen." }]);
    editor = await Editor.on(bench, { model: { input: ["text", "image"] } });
    const sessionId = await editor.session(bench.root);
    await editor.agent.request(session.prompt, {
      sessionId,
      prompt: [
        { type: "text", text: "Compare" },
        { type: "resource_link", uri: "file:///project/a%20b.ts", name: "a b.ts" },
        { type: "resource", resource: { uri: "file:///project/c.ts", text: "const c = 1;" } },
        { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
      ],
      _meta: { pagurus: { additionalContext: { tab: { kind: "untrusted", value: "The open tab." } } } },
    });
    const seen = bench.server.requests[0]?.text ?? "";
    assert.match(seen, /Compare @\/project\/a b\.ts @\/project\/c\.ts/);
    assert.match(seen, /<file path=\\+"\/project\/c\.ts\\+">\\+nconst c = 1;/);
    assert.match(seen, /iVBORw0KGgo=/);
    assert.match(seen, /The open tab\./);
  });

  it("loads a conversation as a whole, including compacted parts, and resumes it without any update", async () => {
    const words = "crab ".repeat(400);
    bench = await benchWith(({ text }, index) => {
      if (index === 0)
        return { toolCalls: [{ id: "c1", name: "glob", arguments: { pattern: "*.nothing" } }] };
      if (index === 1) return { thinking: { text: "Hm." }, text: `Nothing there. ${words}` };
      return { text: index === 2 || text.includes("More, please.") ? "More." : "A summary." };
    });
    const defaults = { compaction: { keepRecentTokens: 100 } };
    editor = await Editor.on(bench, { model: { reasoning: true }, defaults });
    const id = await editor.session(bench.root);
    await editor.prompt(id, "Look around.");
    await editor.prompt(id, "And more?");
    const { stopReason } = await editor.prompt(id, "/compact the files");
    assert.equal(stopReason, "end_turn");
    assert.match(editor.textOf("agent_message_chunk").slice(-200), /Compacted: .* tokens/);
    await editor.prompt(id, "More, please.");
    assert.ok(!bench.server.requests.at(-1)?.text.includes(words), "the model gets the summary");
    await editor.leave();

    editor = await Editor.on(bench, { capabilities: { session: { compaction: {} } } });
    const mcpServers: never[] = [];
    await editor.agent.request(session.resume, { sessionId: id, cwd: bench.root });
    assert.equal(editor.of("user_message_chunk").length, 0);
    const loaded = await editor.agent.request(session.load, { sessionId: id, cwd: bench.root, mcpServers });
    assert.equal(loaded.modes?.currentModeId, "auto");
    assert.equal(editor.textOf("user_message_chunk"), "Look around.And more?More, please.");
    assert.equal(editor.textOf("agent_message_chunk"), `Nothing there. ${words}More.More.`);
    assert.match(editor.textOf("agent_thought_chunk"), /Hm\./);
    assert.deepEqual(
      editor.of("tool_call").map(({ toolCallId, kind }) => [toolCallId, kind]),
      [["c1", "search"]],
    );
    assert.equal(editor.of("tool_call_update").at(-1)?.status, "completed");
    assert.equal(editor.of("compaction_update")[0]?.status, "completed");
    const { sessions } = await editor.agent.request(session.list, {});
    assert.deepEqual(
      sessions.map(({ sessionId, title }) => [sessionId, title]),
      [[id, "Look around."]],
    );
  });

  longTest("forks, closes and deletes sessions, and lists them in pages", async () => {
    bench = await benchWith(() => ({ text: "Yes." }));
    editor = await Editor.on(bench);
    const id = await editor.session(bench.root);
    await editor.prompt(id, "Hello?");
    const cwd = bench.root;
    const copies: string[] = [];
    for (let made = 0; made < 50; made += 1) {
      const { sessionId } = await editor.agent.request<{ sessionId: string }>("session/fork", {
        sessionId: id,
        cwd,
      });
      copies.push(sessionId);
    }
    const first = await editor.agent.request(session.list, { cwd });
    const second = await editor.agent.request(session.list, { cwd, cursor: first.nextCursor ?? null });
    const all = [...first.sessions, ...second.sessions].map(({ sessionId }) => sessionId);
    assert.deepEqual([first.sessions.length, second.sessions.length, second.nextCursor], [50, 1, undefined]);
    assert.deepEqual(all.toSorted(), [id, ...copies].toSorted());
    const [copy = ""] = copies;
    await editor.agent.request(session.close, { sessionId: copy });
    const closed = await refusal(editor.prompt(copy, "Still there?"));
    assert.deepEqual([closed.code, closed.data], [-32002, { code: "session_not_found" }]);
    await editor.agent.request(session.delete, { sessionId: copy });
    const gone = await refusal(editor.agent.request(session.resume, { sessionId: copy, cwd }));
    assert.equal(gone.code, -32002);
  });

  it("chooses mode, model, thinking and runtime, and shows the engine", async () => {
    bench = await benchWith([{ text: "Yes." }]);
    editor = await Editor.on(bench, { model: { reasoning: true } });
    const made = await editor.agent.request(session.new, { cwd: bench.root, mcpServers: [] });
    const { sessionId } = made;
    const shown = made.configOptions?.map((option) => [option.id, option.currentValue]);
    assert.deepEqual(shown, [
      ["mode", "auto"],
      ["model", "default"],
      ["thinking", "default"],
      ["runtime", "default"],
      ["engine", "legacy"],
    ]);
    const set = (configId: string, value: string) =>
      editor.agent.request(session.setConfigOption, { sessionId, configId, value });
    await editor.agent.request(session.setMode, { sessionId, modeId: "read-only" });
    assert.equal(editor.of("config_option_update").at(-1)?.configOptions[0]?.currentValue, "read-only");
    await set("thinking", "high");
    await set("runtime", "embedded");
    const { configOptions } = await set("model", "test/model");
    assert.deepEqual(
      configOptions.map(({ currentValue }) => currentValue),
      ["read-only", "test/model", "high", "embedded", "legacy"],
    );
    for (const [option, value] of [
      ["mode", "wild"],
      ["model", "nobody/nothing"],
      ["runtime", "none"],
      ["engine", "lossless"],
      ["colour", "red"],
    ] as const) {
      const { code, message } = await refusal(set(option, value));
      assert.deepEqual([code, message.endsWith(".")], [-32602, true], message);
    }
    await editor.prompt(sessionId, "Hello?");
    assert.match(bench.server.requests[0]?.text ?? "", /"reasoning_effort":"high"/);
  });

  it("gets a sentence and a code for each failure, and no stack", async () => {
    bench = await benchWith([{ status: 401 }]);
    editor = await Editor.on(bench);
    const id = await editor.session(bench.root);
    const failed = await refusal(editor.prompt(id, "Hello?"));
    assert.deepEqual([failed.code, failed.data], [-32603, { code: "model_auth" }]);
    assert.match(failed.message, /\.$/);
    assert.doesNotMatch(JSON.stringify(failed), /\bat .*\.ts/);
    const cases: [Promise<unknown>, number][] = [
      [editor.prompt("nobody", "Hello?"), -32002],
      [editor.prompt(id, "  "), -32602],
      [editor.session("/nowhere/at/all"), -32602],
      [editor.agent.request("session/nonsense", {}), -32601],
      [editor.agent.request(session.prompt, { sessionId: id } as never), -32602],
      [editor.agent.request(session.list, { cursor: "none" }), -32602],
    ];
    for (const [work, code] of cases) assert.equal((await refusal(work)).code, code);
  });

  it("gets the reason when the host cannot be opened", async () => {
    bench = await benchWith([]);
    const error = new PagurusError("config_invalid", "The configuration is broken; mend it.");
    editor = await Editor.on(bench, { opening: () => Promise.reject(error) });
    const { message, data } = await refusal(editor.hello);
    assert.deepEqual([message, data], ["The configuration is broken; mend it.", { code: "config_invalid" }]);
  });
});

describe("an editor", () => {
  let bench: Bench;
  let editor: Editor;
  afterEach(async () => {
    await editor.leave();
    await bench.end();
  });

  it("with support for them gets compactions with their summary, and notices, as updates of their own", async () => {
    bench = await benchWith(() => ({ text: "Words.", usage: { input: 90_000, output: 10 } }));
    const capabilities = { session: { compaction: {}, notices: {} } };
    editor = await Editor.on(bench, { capabilities, model: { contextWindow: 9_000 } });
    const id = await editor.session(bench.root);
    for (let turn = 0; turn < 4; turn += 1)
      await editor.prompt(id, `Remember ${"crab ".repeat(900)} ${turn}.`);
    const updates = editor.of("compaction_update");
    assert.ok(
      updates.some(({ status, summary }) => status === "completed" && (summary ?? []).length > 0),
      JSON.stringify(updates),
    );
    assert.equal(editor.textOf("agent_thought_chunk"), "");
  });

  it("without support for compactions and notices gets them as thoughts", async () => {
    bench = await benchWith([{ text: "Words." }]);
    editor = await Editor.on(bench);
    await editor.agent.request(session.new, {
      cwd: bench.root,
      mcpServers: [],
      additionalDirectories: [tmpdir()],
    });
    await until(() => editor.textOf("agent_thought_chunk") !== "");
    assert.match(editor.textOf("agent_thought_chunk"), /^Warning: Additional folders are not supported/);
  });

  it("has its old empty sessions deleted, and no other", async (t) => {
    bench = await benchWith(() => ({ text: "Yes." }));
    editor = await Editor.on(bench);
    const empty = await editor.session(bench.root);
    const used = await editor.session(bench.root);
    await editor.prompt(used, "Hello?");
    await editor.leave();
    t.mock.timers.enable({ apis: ["Date"], now: Date.now() + 2 * 24 * 60 * 60_000 });
    editor = await Editor.on(bench);
    const today = await editor.session(bench.root);
    const resume = (sessionId: string) =>
      editor.agent.request(session.resume, { sessionId, cwd: bench.root });
    await Promise.all([resume(used), resume(today)]);
    assert.equal((await refusal(resume(empty))).code, -32002);
  });

  it("continues the conversation that the command line names, once", async () => {
    bench = await benchWith(() => ({ text: "Yes." }));
    editor = await Editor.on(bench, { agent: { sessionKey: "work" } });
    assert.equal(await editor.session(bench.root), "work");
    assert.match(await editor.session(bench.root), /^acp:/);
  });
});
