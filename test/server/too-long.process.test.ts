/** Inputs that are too long for the model: refused by their length at each door, before they are stored, and without a busy event loop. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { WebSocket } from "ws";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { everyNth, FULL, turnAbout } from "../runner/short-form.ts";
import { until } from "../runner/until.ts";
import { MeasuredServer } from "./measured-server.ts";
import type { ServeProcess } from "./serve-setting.ts";

const MB = 2 ** 20;
/** CPU time of one piece of work of the event loop, ms; that of the code before was 600 at 5 MB, and over 2,000 at 31 MB. */
const MOST_MS = 100;

describe("an input that is too long for the model", () => {
  let model: ModelServer;
  let setting: Setting;
  let measured: MeasuredServer;
  let server: ServeProcess;
  before(async () => {
    model = await startServer({ protocol: "openai-completions", script: () => ({ text: "ok" }) });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    measured = await MeasuredServer.start(setting);
    server = measured.process;
    const { body } = await server.call("POST", "/api/v1/sessions/main/turns", { prompt: "Hello." });
    await server.ended(String(body["id"]));
    for (const { path, body: make } of doors) await server.call("POST", path, make("Hello."));
    await measured.figures();
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  function storedBytes(folder = setting.home): number {
    let sum = 0;
    for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true }))
      if (entry.isFile())
        sum += statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
    return sum;
  }

  const chat = (model: string) => (text: string) => ({
    model,
    max_tokens: 100,
    messages: [{ role: "user", content: text }],
  });
  const doors: { path: string; body(text: string): object }[] = [
    { path: "/api/v1/sessions/main/turns", body: (prompt) => ({ prompt }) },
    {
      path: "/api/v1/sessions/main/turns",
      body: (text) => ({ prompt: "Read this.", parts: [{ type: "text", text }] }),
    },
    {
      path: "/api/v1/sessions/main/turns",
      body: (value) => ({ prompt: "Read this.", additionalContext: { page: { value, kind: "untrusted" } } }),
    },
    { path: "/api/v1/sessions/main/steer", body: (text) => ({ text }) },
    {
      path: "/api/v1/jobs",
      body: (prompt) => ({ prompt, session: "main", times: { kind: "at", at: Date.now() + 1e9 } }),
    },
    { path: "/v1/chat/completions", body: chat("test/model") },
    { path: "/v1/messages", body: chat("test/model") },
    { path: "/v1/responses", body: (input) => ({ model: "test/model", input }) },
    { path: "/v1/responses", body: (input) => ({ model: "test/model", input, background: true }) },
    {
      path: "/v1/responses",
      body: (instructions) => ({ model: "test/model", input: "Hello.", instructions }),
    },
    {
      path: "/v1/chat/completions",
      body: (content) => ({
        model: "test/model",
        messages: [
          { role: "user", content: [{ type: "text", text: content }] },
          { role: "assistant", content: "I see." },
          { role: "user", content: "Go on." },
        ],
      }),
    },
    { path: "/v1/chat/completions", body: chat("agent/main") },
    { path: "/v1/messages", body: chat("agent/main") },
    { path: "/v1/responses", body: (input) => ({ model: "agent/main", input }) },
  ];

  it("is refused by each door with its reason, and nothing of it is stored or sent", async () => {
    const text = "lorem ipsum dolor\n".repeat(Math.floor((5 * MB) / 18));
    const [stored, requests] = [storedBytes(), model.requests.length];
    for (const { path, body } of doors) {
      const answer = await server.call("POST", path, body(text));
      assert.ok(answer.status === 413 || answer.status === 400, `${path}: ${answer.status}`);
      const error = answer.body["error"] as { code?: string; message: string };
      assert.match(error.message, /at least \d+ tokens and test\/model takes 100000/, path);
      if (path.startsWith("/api/")) assert.equal(error.code, "live_turn_too_large");
    }
    assert.ok(storedBytes() - stored < MB, `${storedBytes() - stored} bytes`);
    assert.equal(model.requests.length, requests);
  });

  it("of 31 MB is refused, and no work of the event loop for it is long", async () => {
    for (const piece of turnAbout(['\\"\n', "lorem ipsum dolor\n", "a", " "], 0)) {
      const text = piece.repeat(Math.floor((31 * MB) / JSON.stringify(piece).length));
      for (const { path, body } of everyNth(doors, 5)) {
        const answer = await server.call("POST", path, body(text));
        assert.ok(answer.status === 413 || answer.status === 400, `${path}: ${answer.status}`);
      }
      const { longestMs } = await measured.figures();
      if (FULL) assert.ok(longestMs < MOST_MS, `${JSON.stringify(piece)}: ${longestMs} ms`);
    }
  });

  it("with a body above the configured length is refused before it is read", async () => {
    for (const path of ["/api/v1/sessions/main/turns", "/v1/chat/completions", "/v1/messages"]) {
      const { status } = await server.call("POST", path, { text: "a".repeat(33 * MB) });
      assert.equal(status, 413, path);
    }
  });

  it("as a prompt of an ACP client is refused with its code", async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/acp`, {
      headers: { authorization: `Bearer ${server.key}` },
    });
    await once(socket, "open");
    const answers = new Map<number, Record<string, unknown>>();
    socket.on("message", (data: Buffer) => {
      const { id, ...rest } = JSON.parse(data.toString()) as { id?: number };
      if (id !== undefined) answers.set(id, rest);
    });
    const ask = async (id: number, method: string, params: object): Promise<Record<string, unknown>> => {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      await until(() => answers.has(id));
      return answers.get(id) ?? {};
    };
    await ask(1, "initialize", { protocolVersion: 1, clientCapabilities: {} });
    const made = await ask(2, "session/new", { cwd: setting.workspace, mcpServers: [] });
    const { sessionId } = made["result"] as { sessionId: string };
    const prompt = [{ type: "text", text: "lorem ipsum ".repeat(MB / 2) }];
    const { error } = await ask(3, "session/prompt", { sessionId, prompt });
    assert.equal((error as { data?: { code?: string } }).data?.code, "live_turn_too_large");
    socket.close();
  });
});
