/** A question of an MCP server at each door that can ask: the library, an editor, the server's API. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { PermissionAnswer, PermissionQuestion } from "../../packages/contract/src/host/run.ts";
import { Editor } from "../acp-server/acp-bench.ts";
import { COMPILE_CACHE } from "../runner/compile-cache.ts";
import { ServeProcess } from "../server/serve-setting.ts";
import type { ReplyScript } from "../servers/server.ts";
import { startServer } from "../servers/server.ts";
import { Bench, eventsOf } from "../turn/in-process.ts";
import { makeSetting, modelConfig } from "../turn/setting.ts";

const SERVER = {
  command: process.execPath,
  args: [join(import.meta.dirname, "client/asking.child.ts")],
  env: COMPILE_CACHE,
  permission: "allow",
};

const calling: ReplyScript = (_request, index) =>
  index === 0 ? { toolCalls: [{ id: "c1", name: "s__form", arguments: {} }] } : { text: "Done." };

function config(url: string, mode: string): Record<string, unknown> {
  const more = { agents: { defaults: { permission: { mode } } }, mcp: { servers: { s: SERVER } } };
  return modelConfig("openai-completions", url, {}, { ...more, logging: { level: "silent" } });
}

async function askedOfHost(mode: string, answer: PermissionAnswer): Promise<[string, PermissionQuestion[]]> {
  const bench = await Bench.with(calling);
  const seen: PermissionQuestion[] = [];
  const askPermission = async (question: PermissionQuestion): Promise<PermissionAnswer> => {
    seen.push(question);
    return answer;
  };
  try {
    const pagurus = await bench.host({ more: { config: config(bench.server.url, mode), askPermission } });
    const events = await eventsOf(pagurus.run({ prompt: "Ask.", cwd: bench.root }));
    const done = events.find((event) => event.type === "tool.completed");
    return [JSON.stringify(done?.outcome.content), seen];
  } finally {
    await bench.end();
  }
}

suite("a question of an MCP server", { concurrency: 3 }, () => {
  test("reaches the person through the host's prompt, in each mode but deny", async () => {
    for (const mode of ["ask", "auto"]) {
      const [text, [question, ...more]] = await askedOfHost(mode, { content: { name: "Ann" } });
      assert.match(text, /accept.*Ann/);
      assert.equal(more.length, 0);
      assert.deepEqual(
        [question?.toolName, question?.toolCallId, question?.sessionKey, question?.rule],
        ["s__form", "c1", "main", undefined],
      );
    }
    const [text, seen] = await askedOfHost("deny", { content: { name: "Ann" } });
    assert.deepEqual(seen, []);
    assert.match(text, /decline.*no person can be asked here/);
  });

  test("is a permission request of an editor, with yes and no alone", async () => {
    const bench = await Bench.with((_request, index) =>
      index === 0 ? { toolCalls: [{ id: "c1", name: "s__defaults", arguments: {} }] } : { text: "Done." },
    );
    const editor = await Editor.on(bench, { more: { config: config(bench.server.url, "ask") } });
    try {
      await editor.prompt(await editor.session(bench.root), "Ask.");
      const [{ toolCall, options } = {}] = editor.asked;
      assert.equal(toolCall?.toolCallId, "c1");
      assert.match(JSON.stringify(toolCall?.content), /The MCP server \\"s\\" asks: Go on\?/);
      assert.deepEqual(
        options?.map(({ name }) => name),
        ["Send these values", "Reject"],
      );
      assert.match(JSON.stringify(bench.body(1)), /accept.*30.*red/);
    } finally {
      await editor.leave();
      await bench.end();
    }
  });

  test("waits at the server's API, with its form, for an answer with values", async (t) => {
    const model = await startServer({ protocol: "openai-completions", script: calling });
    const setting = makeSetting(config(model.url, "ask"));
    const server = await ServeProcess.start(setting);
    t.after(async () => {
      await server.kill();
      await model.close();
      setting.remove();
    });
    const posted = await server.call("POST", "/api/v1/sessions/asks/turns", { prompt: "Ask." });
    const path = `/api/v1/work/${String(posted.body["id"])}/events`;
    await server.events(path, ({ type }) => type === "approval.asked");
    const listed = await server.call("GET", "/api/v1/approvals");
    const [approval] = listed.body["approvals"] as { id: string; form?: { required?: string[] } }[];
    assert.deepEqual(approval?.form?.required, ["name"]);
    const body = { answer: "once", content: { name: "Ann", age: 7 } };
    const answered = await server.call("POST", `/api/v1/approvals/${approval?.id}`, body);
    assert.equal(answered.body["answered"], true);
    const events = await server.events(path, ({ type }) => type === "work.ended");
    assert.match(JSON.stringify(events.find(({ type }) => type === "tool.completed")), /accept.*Ann.*7/);
    const by = events.find(({ type }) => type === "approval.answered")?.data;
    assert.deepEqual([by?.["allowed"], by?.["answer"]], [true, "once"]);
    assert.doesNotMatch(JSON.stringify(by), /Ann/);
  });
});
