/** Clients of the Agent Client Protocol at `/acp` of a real `pagurus serve`, with the library's own transports. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { client, methods, PROTOCOL_VERSION, type Stream } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { WebSocket } from "ws";
import { CONNECTION_HEADER, MOST_IDLE } from "../../packages/server/src/acp-connections.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { ServeProcess } from "./serve-setting.ts";

describe("an ACP client of a server", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  before(async () => {
    model = await startServer({
      protocol: "openai-completions",
      script: () => ({ text: "Hello from afar." }),
    });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  async function talk(stream: Stream): Promise<{ text: string; stopReason: string; sessionId: string }> {
    let text = "";
    const app = client({ name: "test" }).onNotification(methods.client.session.update, ({ params }) => {
      const { update } = params;
      if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text")
        text += update.content.text;
    });
    const { agent, close } = ((open) => ({ agent: open.agent, close: () => open.close() }))(
      app.connect(stream),
    );
    await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: {},
    });
    const { sessionId } = await agent.request(methods.agent.session.new, {
      cwd: setting.workspace,
      mcpServers: [],
    });
    const prompt = [{ type: "text" as const, text: "Hello?" }];
    const { stopReason } = (await agent.request(methods.agent.session.prompt, { sessionId, prompt })) as {
      stopReason: string;
    };
    close();
    return { text, stopReason, sessionId };
  }

  const headers = (): Record<string, string> => ({ authorization: `Bearer ${server.key}` });

  it("talks over a WebSocket, and its session is one of the server's", async () => {
    const url = `ws://127.0.0.1:${server.port}/acp`;
    const { text, stopReason, sessionId } = await talk(
      createWebSocketStream(url, { headers: headers(), WebSocket: WebSocket as never }),
    );
    assert.deepEqual([text, stopReason], ["Hello from afar.", "end_turn"]);
    const shown = await server.call("GET", `/api/v1/sessions/${encodeURIComponent(sessionId)}`);
    assert.equal(shown.body["turns"], 1);
  });

  it("talks over HTTP", async () => {
    const { text, stopReason } = await talk(createHttpStream(`${server.url}/acp`, { headers: headers() }));
    assert.deepEqual([text, stopReason], ["Hello from afar.", "end_turn"]);
  });

  it("that left many connections over HTTP has the newest and those with a stream, and no others", async () => {
    const sent = { ...headers(), "content-type": "application/json" };
    const initialize = async (): Promise<string> => {
      const params = { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
      const answer = await fetch(`${server.url}/acp`, { method: "POST", headers: sent, body });
      await answer.text();
      return answer.headers.get(CONNECTION_HEADER) ?? "";
    };
    const statusOf = async (id: string): Promise<number> => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "session/list", params: {} });
      const asked = { method: "POST", headers: { ...sent, [CONNECTION_HEADER]: id }, body };
      const answer = await fetch(`${server.url}/acp`, asked);
      await answer.text();
      return answer.status;
    };
    const listened = await initialize();
    const left = await initialize();
    const end = new AbortController();
    const listening = { ...headers(), accept: "text/event-stream", [CONNECTION_HEADER]: listened };
    const stream = await fetch(`${server.url}/acp`, { headers: listening, signal: end.signal });
    let newest = "";
    for (let count = 0; count < MOST_IDLE; count += 1) newest = await initialize();
    assert.deepEqual(await Promise.all([newest, listened, left].map(statusOf)), [202, 202, 404]);
    end.abort();
    assert.equal(stream.status, 200);
  });

  it("is refused without a token, and with one for some sessions only", async () => {
    const some = await finish(setting, ["token", "create", "--name", "some", "--session", "a*"]);
    for (const secret of ["wrong", some.stdout.trim()]) {
      const socket = new WebSocket(`ws://127.0.0.1:${server.port}/acp`, {
        headers: { authorization: `Bearer ${secret}` },
      });
      const [error] = await new Promise<[Error]>((resolve) =>
        socket.once("error", (failure: Error) => resolve([failure])),
      );
      assert.match(error.message, /403/);
    }
    const answer = await server.call("POST", "/acp", {}, { authorization: `Bearer ${some.stdout.trim()}` });
    assert.equal(answer.status, 403);
  });
});
