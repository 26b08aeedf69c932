/** What may be open at once: requests of a token, and bytes of the bodies of all. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { request, type ClientRequest, type IncomingMessage } from "node:http";
import { afterEach, beforeEach, describe, it } from "node:test";
import { WebSocket } from "ws";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { until } from "../runner/until.ts";
import { ServeProcess } from "./serve-setting.ts";

const MB = 2 ** 20;
const MOST_REQUESTS = 4;
const PATHS = [
  "/api/v1/sessions/main/turns",
  "/v1/chat/completions",
  "/v1/messages",
  "/v1/responses",
  "/acp",
];

describe("what is open at once", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  const open: ClientRequest[] = [];
  beforeEach(async () => {
    model = await startServer({ protocol: "openai-completions", script: () => ({ text: "ok" }) });
    const bounds = { maxBodyBytes: MB, maxBytesInFlight: 2 * MB, maxRequests: MOST_REQUESTS };
    setting = makeSetting(modelConfig("openai-completions", model.url, {}, { server: bounds }));
    server = await ServeProcess.start(setting);
  });
  afterEach(async () => {
    leaveAll();
    await server.kill();
    await model.close();
    setting.remove();
  });

  function leaveAll(): void {
    for (const each of open.splice(0)) each.destroy();
  }

  async function token(name: string): Promise<string> {
    const { status, body } = await server.call("POST", "/api/v1/tokens", { name, scope: "chat" });
    assert.equal(status, 201, JSON.stringify(body));
    return String(body["secret"]);
  }

  /** A request whose body does not end: `length` says how long it will be; without it the body comes in pieces. */
  function begin(
    path: string,
    key: string,
    length?: number,
  ): { asked: ClientRequest; answer: Promise<IncomingMessage> } {
    const asked = request(`${server.url}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        ...(length === undefined ? {} : { "content-length": length }),
      },
    });
    asked.on("error", () => undefined);
    open.push(asked);
    const answer = once(asked, "response").then(([response]) => response as IncomingMessage);
    answer.catch(() => undefined);
    asked.write("[");
    return { asked, answer };
  }

  /** Fills what the server may hold, to 1,000 bytes. The server admits requests in any order: an answer of one of the two begins it again. */
  async function fill(key: string): Promise<void> {
    await until(async () => {
      const held = [begin(PATHS[0] ?? "", key, MB), begin(PATHS[1] ?? "", key, MB - 1_000)];
      const probe = begin(PATHS[2] ?? "", key, MB);
      let refused = 0;
      for (const { answer } of held)
        void answer.then(
          () => (refused += 1),
          () => undefined,
        );
      // There is space for two of the three, so that one is always answered.
      const answer = await Promise.race([probe, ...held].map((each) => each.answer));
      await server.call("GET", "/api/v1/status");
      if (answer.statusCode === 503 && refused === 0) return true;
      leaveAll();
      return false;
    });
  }

  async function refusal(
    answer: Promise<IncomingMessage>,
  ): Promise<{ status: number; retry: string; body: string }> {
    const response = await answer;
    let body = "";
    response.setEncoding("utf8").on("data", (text: string) => (body += text));
    await Promise.race([once(response, "end"), once(response, "close")]);
    return { status: response.statusCode ?? 0, retry: response.headers["retry-after"] ?? "", body };
  }

  /** Short requests of the token pass again when those before have left. */
  async function free(key: string): Promise<void> {
    await until(async () => {
      const { status } = await server.call(
        "POST",
        "/v1/messages/count_tokens",
        {},
        { authorization: `Bearer ${key}` },
      );
      return status === 400;
    });
  }

  function assertOwnForm(path: string, body: string): void {
    const { type, error } = JSON.parse(body) as { type?: string; error: Record<string, string> };
    assert.match(error["message"] ?? "", /try again/, path);
    if (path === "/v1/messages") assert.equal(type, "error");
    else if (path.startsWith("/v1/")) assert.ok(error["type"], body);
    else assert.equal(error["code"], "server_busy", path);
  }

  it("is limited for the bytes of all bodies, by the length in their heads; short ones pass", async () => {
    const key = await token("long");
    await fill(await token("filling"));
    for (const path of PATHS) {
      const { status, retry, body } = await refusal(begin(path, key, MB).answer);
      assert.equal(status, 503, `${path}: ${body}`);
      assert.equal(retry, "1");
      assertOwnForm(path, body);
    }
    await free(key);
    const other = await server.call("POST", "/api/v1/sessions/main/turns", { prompt: "Hello." });
    assert.equal(other.status, 202);
    leaveAll();
    await until(async () => {
      const { status } = await server.call("POST", "/v1/messages", { model: "a".repeat(MB - 100) });
      return status !== 503;
    });
  });

  it("is limited for bodies without a length in their heads, as they come", async () => {
    const key = await token("pieces");
    await fill(await token("filling"));
    for (const path of PATHS) {
      const { asked, answer } = begin(path, key);
      asked.write("a".repeat(MB / 2));
      const { status, retry, body } = await refusal(answer);
      assert.equal(status, 503, `${path}: ${body}`);
      assert.equal(retry, "1", path);
      assertOwnForm(path, body);
    }
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/acp`, {
      headers: { authorization: `Bearer ${server.key}` },
    });
    await once(socket, "open");
    socket.send("a".repeat(MB / 2));
    assert.equal((await once(socket, "close"))[0], 1013);
  });

  it("is refused before the body has come, and a client that sends it all has its answer", async () => {
    const piece = "a".repeat(2 * MB);
    for (const path of PATHS)
      for (const [head, body] of [
        [`content-length: ${piece.length}`, piece],
        ["transfer-encoding: chunked", `${piece.length.toString(16)}\r\n${piece}\r\n0\r\n\r\n`],
      ] as const) {
        const socket = connect(server.port, "127.0.0.1");
        let answer = "";
        socket.setEncoding("utf8").on("data", (text) => (answer += text));
        const lines = [
          `POST ${path} HTTP/1.1`,
          "host: localhost",
          `authorization: Bearer ${server.key}`,
          head,
        ];
        socket.write(`${lines.join("\r\n")}\r\n\r\n${body.slice(0, 1.5 * MB)}`);
        await until(() => answer.startsWith("HTTP/1.1 413"));
        socket.write(body.slice(1.5 * MB));
        if (answer.includes("connection: close")) {
          await once(socket, "end");
          continue;
        }
        socket.write("GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n");
        await until(() => answer.includes("HTTP/1.1 200"));
        socket.destroy();
      }
  });

  it("is limited for the requests of each token, and event streams are not among them", async () => {
    const [key, other] = [await token("many"), await token("another")];
    const streams = Array.from({ length: MOST_REQUESTS * 2 }, () => {
      const abort = new AbortController();
      const headers = { authorization: `Bearer ${key}` };
      return fetch(`${server.url}/api/v1/sessions/main/events`, { headers, signal: abort.signal }).then(
        (answer) => {
          assert.equal(answer.status, 200);
          return abort;
        },
      );
    });
    for (const each of streams) await each;
    for (let count = 0; count < MOST_REQUESTS; count++) begin("/v1/messages", key, 100);
    await until(async () => {
      const { status } = await server.call("GET", "/api/v1/status", undefined, {
        authorization: `Bearer ${key}`,
      });
      return status === 429;
    });
    for (const path of PATHS) {
      const { status, retry, body } = await refusal(begin(path, key, 100).answer);
      assert.equal(status, 429, `${path}: ${body}`);
      assert.equal(retry, "1");
      assertOwnForm(path, body);
    }
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/acp`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const [error] = (await once(socket, "error")) as [Error];
    assert.match(error.message, /429/);
    await free(other);
    leaveAll();
    await free(key);
    for (const each of streams) (await each).abort();
  });
});
