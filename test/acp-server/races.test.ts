/** Concurrent actions of an editor, and actions on a deleted session. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { methods, type ContentBlock } from "@agentclientprotocol/sdk";
import { loadMcpServers } from "../../packages/app/src/commands-own.ts";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import { createAcpAgent } from "../../packages/acp-server/src/acp-agent.ts";
import { withDeadline } from "../../packages/core/src/platform/deadline.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import type { Bench } from "../turn/in-process.ts";
import { benchWith, Editor } from "./acp-bench.ts";
import { longTest } from "../runner/long-tests.ts";
import { until } from "../runner/until.ts";

const mcpServers = await loadMcpServers();

const session = methods.agent.session;

const HANGS = { text: "The beginning of a long answer.", chunkSize: 10, hangAfterChunks: 2 };

/** The number and the sentence of a refused request. */
async function refusal(work: Promise<unknown>): Promise<{ code: number; message: string }> {
  try {
    await work;
  } catch (error) {
    const { code, message } = error as { code: number; message: string };
    return { code, message };
  }
  throw new Error("The request was not refused.");
}

describe("an editor that does several things at once", () => {
  let bench: Bench;
  let editor: Editor;
  afterEach(async () => {
    await editor.leave();
    await bench.end();
  });
  const load = (sessionId: string, cwd: string) =>
    editor.agent.request(session.load, { sessionId, cwd, mcpServers: [] });

  longTest("keeps each of its concurrent choices", async () => {
    bench = await benchWith([]);
    editor = await Editor.on(bench);
    const sessionId = await editor.session(bench.root);
    const set = (configId: string, value: string) =>
      editor.agent.request(session.setConfigOption, { sessionId, configId, value });
    await Promise.all([set("runtime", "embedded"), set("mode", "read-only"), set("thinking", "high")]);
    const { configOptions } = await set("engine", "legacy");
    assert.deepEqual(
      configOptions.map(({ currentValue }) => currentValue),
      ["read-only", "default", "high", "embedded", "legacy"],
    );
  });

  it("gets an error for a prompt to a session that is being closed", async () => {
    bench = await benchWith([HANGS, HANGS]);
    editor = await Editor.on(bench);
    const sessionId = await editor.session(bench.root);
    const first = editor.prompt(sessionId, "one");
    await until(() => editor.of("agent_message_chunk").length > 0);
    const closing = editor.agent.request(session.close, { sessionId });
    const second = refusal(editor.prompt(sessionId, "two"));
    assert.equal((await first).stopReason, "cancelled");
    await closing;
    assert.equal((await second).code, -32002);
    assert.equal(bench.server.requests.length, 1);
  });

  longTest("has no half-open session after loads that race with a close and a deletion", async () => {
    bench = await benchWith(() => ({ text: "Yes." }));
    editor = await Editor.on(bench);
    const sessionId = await editor.session(bench.root);
    await editor.prompt(sessionId, "one");
    await editor.agent.request(session.close, { sessionId });
    const other = join(bench.root, "other");
    mkdirSync(other);
    await Promise.all([
      load(sessionId, bench.root),
      load(sessionId, other),
      editor.agent.request(session.close, { sessionId }),
      editor.agent.request(session.delete, { sessionId }),
    ]);
    assert.equal(editor.textOf("user_message_chunk"), "oneone");
    assert.equal((await refusal(editor.prompt(sessionId, "two"))).code, -32002);
    assert.equal((await refusal(load(sessionId, bench.root))).code, -32002);
  });

  it("loads while a call runs, which then ends normally", async () => {
    const shell = { id: "c1", name: "shell", arguments: { command: "sleep 0.5; echo done" } };
    bench = await benchWith([{ text: "Go.", toolCalls: [shell] }, { text: "Done." }]);
    editor = await Editor.on(bench);
    const id = await editor.session(bench.root);
    const turn = editor.prompt(id, "one");
    await until(() => editor.of("tool_call").length > 0);
    await load(id, bench.root);
    await turn;
    const updates = editor.of("tool_call_update").flatMap(({ status }) => status ?? []);
    assert.ok(!updates.includes("failed"), updates.join());
    assert.equal(updates.at(-1), "completed");
    assert.equal(editor.textOf("user_message_chunk"), "one");
  });

  longTest(
    "shows each call under an id of its own, live and loaded, even if the model reuses an id",
    async () => {
      const shell = { id: "call_0", name: "shell", arguments: { command: "echo said" } };
      bench = await benchWith((_, index) => (index % 2 === 0 ? { toolCalls: [shell] } : { text: "Done." }));
      editor = await Editor.on(bench, { defaults: { permission: { mode: "ask" } } });
      const id = await editor.session(bench.root);
      for (const text of ["one", "two"]) await editor.prompt(id, text);
      const ids = ["call_0", "call_0#2"];
      const updates = () => ({
        begun: editor.of("tool_call").map(({ toolCallId }) => toolCallId),
        done: editor
          .of("tool_call_update")
          .flatMap(({ toolCallId, status }) => (status === "completed" ? [toolCallId] : [])),
      });
      assert.deepEqual(updates(), { begun: ids, done: ids });
      assert.deepEqual(
        editor.asked.map(({ toolCall }) => toolCall.toolCallId),
        ids,
      );
      editor.updates.length = 0;
      await load(id, bench.root);
      assert.deepEqual(updates(), { begun: ids, done: ids });
    },
  );

  it("gets an error when another process has deleted its conversation, and continues with an empty one", async () => {
    bench = await benchWith(() => ({ text: "Yes." }));
    editor = await Editor.on(bench);
    const [used, empty] = [await editor.session(bench.root), await editor.session(bench.root)];
    await editor.prompt(used, "Hello?");
    const elsewhere = await bench.host();
    for (const sessionKey of [used, empty]) await elsewhere.deleteSession({ sessionKey });
    const gone = await refusal(editor.prompt(used, "And now?"));
    assert.deepEqual([gone.code, /deleted elsewhere/.test(gone.message)], [-32002, true]);
    assert.equal((await editor.prompt(empty, "Hello?")).stopReason, "end_turn");
  });

  it("lists its sessions even if one of them cannot be read", async () => {
    bench = await benchWith(() => ({ text: "Yes." }));
    const host = await bench.host();
    editor = await Editor.on(bench, { opening: () => Promise.resolve(host) });
    const ids = [await editor.session(bench.root), await editor.session(bench.root)];
    for (const id of ids) await editor.prompt(id, "Hello?");
    const store = host.sessions("main");
    const openReader = store.openReader.bind(store);
    store.openReader = (key) => {
      if (key === ids[0]) throw new PagurusError("store_read_failed", "The file cannot be read.");
      return openReader(key);
    };
    const listed = await editor.agent.request(session.list, {});
    assert.deepEqual(
      new Map(listed.sessions.map(({ sessionId, title }) => [sessionId, title])),
      new Map([
        [ids[0], ids[0]],
        [ids[1], "Hello?"],
      ]),
    );
  });

  it("gets a sentence for invalid folders and images, and nothing of them is stored", async () => {
    bench = await benchWith(() => ({ text: "Yes." }));
    editor = await Editor.on(bench, { model: { input: ["text", "image"] } });
    for (const cwd of ["", "work", "/a\0b", `/${"x".repeat(5_000)}`])
      assert.equal((await refusal(editor.session(cwd))).code, -32602, cwd.slice(0, 10));
    const sessionId = await editor.session(`${bench.root}/../${bench.root.split("/").at(-1) ?? ""}/`);
    const ask = (...prompt: ContentBlock[]) => editor.agent.request(session.prompt, { sessionId, prompt });
    for (const [data, mimeType] of [
      ["%%%", "image/png"],
      ["", "image/png"],
      ["aaaa", "image/svg+xml"],
      ["a".repeat(8_000_000), "image/png"],
    ] as const)
      assert.equal((await refusal(ask({ type: "image", data, mimeType }))).code, -32602, mimeType);
    await ask({ type: "image", data: "iVBOR\nw0KGgo=", mimeType: "image/JPG" });
    assert.match(bench.server.requests[0]?.text ?? "", /image\/jpeg;base64,iVBORw0KGgo=/);
    const { sessions } = await editor.agent.request(session.list, { cwd: `${bench.root}/` });
    assert.equal(sessions[0]?.cwd, bench.root);
  });

  it("sends a command file together with its attachments, unchanged", async () => {
    bench = await benchWith(() => ({ text: "Yes." }));
    mkdirSync(join(bench.root, ".pagurus/commands"), { recursive: true });
    const file = (name: string, text: string) =>
      writeFileSync(join(bench.root, ".pagurus/commands", name), text);
    file("review.md", "Review it: $ARGUMENTS");
    file("comment.md", "//TODO is a comment.");
    editor = await Editor.on(bench);
    const sessionId = await editor.session(bench.root);
    const resource = { uri: "file:///project/c.ts", text: "const c = 1;" };
    await editor.agent.request(session.prompt, {
      sessionId,
      prompt: [
        { type: "text", text: "/review" },
        { type: "resource", resource },
      ],
    });
    const context = { tab: { kind: "untrusted", value: "The open tab." } };
    await editor.agent.request(session.prompt, {
      sessionId,
      prompt: [{ type: "text", text: "/comment" }],
      _meta: { pagurus: { additionalContext: context } },
    });
    await editor.prompt(sessionId, "//etc is a folder.");
    const [review = "", comment = ""] = bench.server.requests.map(({ text }) => text);
    assert.match(review, /Review it: @\/project\/c\.ts/);
    assert.match(review, /const c = 1;/);
    assert.match(comment, /\/\/TODO is a comment\./);
    assert.match(comment, /The open tab\./);
    assert.match(bench.server.requests[2]?.text ?? "", /[^/]\/etc is a folder\./);
  });
});

it("an editor that stops reading blocks no turn once its connection is closed", async () => {
  const bench = await benchWith(() => ({ text: "word ".repeat(2_000), chunkSize: 100 }));
  try {
    const home = join(bench.root, "home");
    const acp = createAcpAgent({
      version: "1.2.3",
      home,
      env: {},
      logger: silentLogger,
      mcpTools: (servers) => mcpServers({ home, env: {}, config: { mcp: { servers } } }),
      agentId: "main",
      sessionKey: "work",
      preferred: {},
      notifyCompactions: true,
    });
    const pagurus = await bench.host();
    const { readable: input, writable } = new TransformStream<Uint8Array, Uint8Array>();
    let written = 0;
    // The answers to `initialize` and `session/new`, then none.
    const write = () => ((written += 1) <= 2 ? undefined : new Promise<void>(() => undefined));
    const output = new WritableStream<Uint8Array>({ write });
    const served = acp.serve(Promise.resolve(pagurus), { input, output });
    const writer = writable.getWriter();
    const say = (id: number, method: string, params: unknown) =>
      writer.write(Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`));
    await say(1, methods.agent.initialize, { protocolVersion: 1 });
    await until(() => written >= 1);
    await say(2, session.new, { cwd: bench.root, mcpServers: [] });
    await until(() => written >= 2);
    await say(3, session.prompt, { sessionId: "work", prompt: [{ type: "text", text: "Hello?" }] });
    await until(() => bench.server.requests.length > 0);
    await writer.close();
    await withDeadline(() => served, { ms: 5_000, label: "The end of the connection" });
  } finally {
    await bench.end();
  }
});

it("a message that is too long ends the connection and is logged", async () => {
  const bench = await benchWith([]);
  try {
    const updates: unknown[] = [];
    const acp = createAcpAgent({
      version: "1.2.3",
      home: join(bench.root, "home"),
      env: {},
      logger: { ...silentLogger, warn: (...line: unknown[]) => void updates.push(line) },
      mcpTools: () => assert.fail("no session is opened"),
      agentId: "main",
      preferred: {},
      notifyCompactions: true,
    });
    const { readable: input, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const served = acp.serve(bench.host(), { input, output: new WritableStream() });
    const writer = writable.getWriter();
    // The other end closes before it has read all of it.
    writer.write(Buffer.alloc(33 * 1024 * 1024, "x")).catch(() => undefined);
    await withDeadline(() => served, { ms: 5_000, label: "The end of the connection" });
    assert.deepEqual(updates, [["connection failed", { error: "MessageTooLargeError" }]]);
  } finally {
    await bench.end();
  }
});
