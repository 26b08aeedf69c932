/** Each kind of thing that a token can have open at a server: how it is opened, and how its client sees the end. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { client, methods, PROTOCOL_VERSION, type Stream } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { WebSocket } from "ws";
import { modelConfig } from "../turn/setting.ts";
import type { ServeProcess } from "./serve-setting.ts";

export interface OpenPlace {
  server: ServeProcess;
  /** Folder of ACP sessions. */
  folder: string;
  /** Authorization header of the token. */
  headers: Record<string, string>;
  /** Of no other test. */
  session: string;
}

/** Opens something and waits until it is open; the returned function resolves when its client has seen a clean end. */
export type OpenKind = (place: OpenPlace) => Promise<() => Promise<void>>;

/** A configuration whose models at `url` serve each kind. */
export function openKindsConfig(url: string): Record<string, unknown> {
  const config = modelConfig("openai-completions", url);
  const { providers } = config["models"] as { providers: { test: { models: object[] } } };
  providers.test.models.push({ id: "paints", surfaces: ["images", "embeddings"] });
  return config;
}

const json = { "content-type": "application/json" };

/** Reads a stream in the background: `begun` at its first bytes. */
async function reading(answer: Response): Promise<() => Promise<string>> {
  assert.equal(answer.status, 200, answer.ok ? "" : await answer.text());
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  assert.ok(reader);
  let text = "";
  const all = (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += value;
    }
  })();
  all.catch(() => undefined);
  return () => all;
}

/** `path`: of the work of a turn that runs in the place's session. */
function eventStream(path: (session: string, work: string) => string): OpenKind {
  return async ({ server, headers, session }) => {
    const posted = await server.call("POST", `/api/v1/sessions/${session}/turns`, { prompt: "x" });
    const work = String(posted.body["id"]);
    const text = await reading(await fetch(`${server.url}${path(session, work)}`, { headers }));
    return async () => {
      assert.match(await text(), /event: token\.ended\ndata: \{.*revoked or has expired.*\}\n\n$/);
      await server.call("POST", `/api/v1/work/${work}/stop`);
    };
  };
}

function modelStream(path: string, body: object, last: RegExp): OpenKind {
  return async ({ server, headers }) => {
    const answer = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { ...headers, ...json },
      body: JSON.stringify({ stream: true, ...body }),
    });
    const text = await reading(answer);
    return async () => assert.match(await text(), last);
  };
}

function modelCall(path: string, body: object, check: (json: Record<string, unknown>) => void): OpenKind {
  return async ({ server, headers }) => {
    const answer = fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { ...headers, ...json },
      body: JSON.stringify(body),
    });
    answer.catch(() => undefined);
    return async () => {
      const { status } = await answer;
      assert.equal(status, 401);
      check((await (await answer).json()) as Record<string, unknown>);
    };
  };
}

/** A client whose turn runs. */
function agentClient(connects: (place: OpenPlace) => Stream): OpenKind {
  return async (place) => {
    const begun = Promise.withResolvers<void>();
    const app = client({ name: "test" }).onNotification(methods.client.session.update, ({ params }) => {
      if (params.update.sessionUpdate === "agent_message_chunk") begun.resolve();
    });
    const { agent } = app.connect(connects(place));
    await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: {},
    });
    const { sessionId } = await agent.request(methods.agent.session.new, {
      cwd: place.folder,
      mcpServers: [],
    });
    const prompt = [{ type: "text" as const, text: "Hello?" }];
    const ended = agent
      .request(methods.agent.session.prompt, { sessionId, prompt })
      .catch((error: unknown) => error);
    await begun.promise;
    return async () => void (await ended);
  };
}

/** Posts work with the token; `holds`: a turn of another caller runs in the session before. */
function postedWork(holds: boolean, outcome: string): OpenKind {
  return async ({ server, headers, session }) => {
    const path = `/api/v1/sessions/${session}/turns`;
    const first = holds ? await server.call("POST", path, { prompt: "first" }) : undefined;
    const posted = await server.call("POST", path, { prompt: "x" }, headers);
    assert.equal(posted.status, 202);
    return async () => {
      assert.equal((await server.ended(String(posted.body["id"])))["outcome"], outcome);
      if (first) await server.call("POST", `/api/v1/work/${String(first.body["id"])}/stop`);
    };
  };
}

export const OPEN_KINDS: Readonly<Record<string, OpenKind>> = {
  "events of all sessions": eventStream(() => "/api/v1/events"),
  "events of a session": eventStream((session) => `/api/v1/sessions/${session}/events`),
  "events of a piece of work": eventStream((_, work) => `/api/v1/work/${work}/events`),
  "a WebSocket": async ({ server, headers }) => {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/acp`, { headers });
    await once(socket, "open");
    const closed = once(socket, "close") as Promise<[code: number, reason: Buffer]>;
    return async () => {
      const [code, reason] = await closed;
      assert.deepEqual([code, /revoked or has expired/.test(reason.toString())], [4401, true]);
    };
  },
  "an ACP client over a WebSocket, and its turn": agentClient(({ server, headers }) =>
    createWebSocketStream(`ws://127.0.0.1:${server.port}/acp`, { headers, WebSocket: WebSocket as never }),
  ),
  "an ACP client over HTTP, and its turn": agentClient(({ server, headers }) =>
    createHttpStream(`${server.url}/acp`, { headers }),
  ),
  "a stream of chat completions": modelStream(
    "/v1/chat/completions",
    { model: "test/model", messages: [{ role: "user", content: "x" }] },
    /\n\ndata: \{"error":\{"message":"The token was revoked[^\n]*\}\n\n$/,
  ),
  "a stream of messages": modelStream(
    "/v1/messages",
    { model: "test/model", max_tokens: 100, messages: [{ role: "user", content: "x" }] },
    /\n\nevent: error\ndata: \{"type":"error","error":\{"type":"authentication_error"[^\n]*\}\n\n$/,
  ),
  "a stream of responses": modelStream(
    "/v1/responses",
    { model: "test/model", input: "x" },
    /\n\nevent: error\ndata: \{"type":"error","code":"token_invalid"[^\n]*\}\n\n$/,
  ),
  "a stream of an agent's answer": modelStream(
    "/v1/chat/completions",
    { model: "agent/main", messages: [{ role: "user", content: "x" }] },
    /\n\ndata: \{"error":\{"message":"The token was revoked[^\n]*\}\n\n$/,
  ),
  "a chat completion without a stream": modelCall(
    "/v1/chat/completions",
    { model: "test/model", messages: [{ role: "user", content: "x" }] },
    ({ error }) => assert.equal((error as { code: string }).code, "unauthorized"),
  ),
  "a message without a stream": modelCall(
    "/v1/messages",
    { model: "test/model", max_tokens: 100, messages: [{ role: "user", content: "x" }] },
    ({ error }) => assert.equal((error as { type: string }).type, "authentication_error"),
  ),
  "a stream of images": modelStream(
    "/v1/images/generations",
    { model: "test/paints", prompt: "x" },
    /\n\ndata: \{"error":\{"message":"The token was revoked[^\n]*\}\n\n$/,
  ),
  "embeddings that are being made": modelCall(
    "/v1/embeddings",
    { model: "test/paints", input: "x" },
    ({ error }) => assert.equal((error as { code: string }).code, "unauthorized"),
  ),
  "a background response": async ({ server, headers }) => {
    const asked = { model: "test/model", input: "x", background: true };
    const { status } = await server.call("POST", "/v1/responses", asked, headers);
    assert.equal(status, 200);
    // The caller of the test sees that the model is no longer asked.
    return () => Promise.resolve();
  },
  "a turn in the inbox that runs": postedWork(false, "aborted"),
  "a turn in the inbox that waits": postedWork(true, "withdrawn"),
  "a request whose body is still on its way": async ({ server, headers, session }) => {
    const socket = connect(server.port, "127.0.0.1");
    await once(socket, "connect");
    const head = Object.entries({ host: "127.0.0.1", "content-length": "40", ...headers });
    socket.write(
      `POST /api/v1/sessions/${session}/turns HTTP/1.1\r\n${head.map((pair) => pair.join(": ")).join("\r\n")}\r\n\r\n{"prompt":`,
    );
    await pause(50);
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    socket.on("error", () => undefined);
    const closed = once(socket, "close");
    return async () => {
      await closed;
      assert.match(text, /^HTTP\/1\.1 401 /);
      assert.equal((await server.call("GET", `/api/v1/sessions/${session}`)).status, 404);
    };
  },
};
