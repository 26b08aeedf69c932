import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { suite, test, type TestContext } from "node:test";
import { text } from "node:stream/consumers";
import { hosted, textOf } from "./hosted.ts";
import { until } from "../../runner/until.ts";

type Message = { id?: number; method: string; params?: Record<string, unknown> };
type Behaviour = (message: Message, response: ServerResponse, request: IncomingMessage) => boolean;

interface HttpServer {
  url: string;
  /** Headers of the requests so far. */
  headers: IncomingMessage["headers"][];
  /** Drops all sessions. */
  forget(): void;
  end(): Promise<void>;
}

function result({ id, method, params }: Message): object {
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: params?.["protocolVersion"],
      capabilities: { tools: {} },
      serverInfo: { name: "http", version: "1" },
    },
    "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: `echo ${JSON.stringify(params?.["arguments"])}` }] },
  };
  const found = results[method];
  return found
    ? { jsonrpc: "2.0", id, result: found }
    : { jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } };
}

/** A server of the revisions before 2026; `behave` returns true for a message that it handles itself. */
async function httpServer(t: TestContext, behave: Behaviour = () => false): Promise<HttpServer> {
  const headers: IncomingMessage["headers"][] = [];
  let session = 0;
  let known = "";
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      headers.push(request.headers);
      if (request.method !== "POST") return response.writeHead(405).end();
      const message = JSON.parse(body) as Message;
      if (behave(message, response, request)) return undefined;
      if (message.method === "initialize") known = `session-${++session}`;
      else if (request.headers["mcp-session-id"] !== known)
        return response.writeHead(message.method === "server/discover" ? 400 : 404).end();
      if (message.id === undefined) return response.writeHead(202).end();
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": known });
      return response.end(JSON.stringify(result(message)));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as { port: number };
  const end = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { url: `http://127.0.0.1:${port}/mcp`, headers, forget: () => (known = ""), end };
}

suite("MCP servers at an address", { concurrency: 4 }, () => {
  test("are called with their headers, and again with a new session after they lose ours", async (t) => {
    const server = await httpServer(t);
    const host = hosted(t, { web: { url: server.url, headers: { Authorization: "Bearer ${TOKEN}" } } });
    assert.deepEqual((await host.offer()).problems, []);
    assert.equal(textOf(await host.call("web__echo", { a: 1 })), 'echo {"a":1}');
    assert.ok(server.headers.every(({ authorization }) => authorization === "Bearer tok-abcdef"));
    server.forget();
    assert.equal(textOf(await host.call("web__echo", { a: 2 })), 'echo {"a":2}');
  });

  test("that lose our session and report it with another status are called again too, once", async (t) => {
    let refuse = false;
    let calls = 0;
    const server = await httpServer(t, ({ method }, response) => {
      if (method === "initialize") refuse = calls > 3;
      if (method === "tools/call") calls += 1;
      if (!refuse || method !== "tools/call") return false;
      response.writeHead(400).end("Bad Request: No valid session ID provided");
      return true;
    });
    const host = hosted(t, { web: { url: server.url } });
    await host.offer();
    refuse = true;
    assert.equal(textOf(await host.call("web__echo", { a: 1 })), 'echo {"a":1}');
    assert.equal(calls, 2);
    [refuse, calls] = [true, 4];
    assert.match(textOf(await host.call("web__echo")), /"web" answers HTTP 400\./);
    assert.equal(calls, 6);
  });

  test("that refuse the login fail with a remedy, without the token", async (t) => {
    const server = await httpServer(t, (_message, response) => {
      response.writeHead(401, { "content-type": "text/plain" }).end("bad token tok-abcdef");
      return true;
    });
    const host = hosted(t, { web: { url: server.url, headers: { Authorization: "Bearer ${TOKEN}" } } });
    const { problems } = await host.offer();
    assert.match(
      problems[0] ?? "",
      /"web" refuses the login.*set "headers" with what it asks for; its tools are missing\.$/,
    );
    assert.doesNotMatch(problems.join(), /tok-abcdef/);
  });

  test("that hang cost the timeout alone", async (t) => {
    const server = await httpServer(
      t,
      ({ method }) => method === "tools/call" || method === "server/discover",
    );
    const host = hosted(t, { web: { url: server.url, connectTimeoutMs: 300, timeoutMs: 300 } });
    const { problems } = await host.offer();
    assert.deepEqual(problems, [
      'The MCP server "web" did not get ready within 0.3 s; its tools are missing.',
    ]);
  });

  test("that do not answer a call fail at the timeout", async (t) => {
    const server = await httpServer(t, ({ method }) => method === "tools/call" || method === "ping");
    const host = hosted(t, { web: { url: server.url, timeoutMs: 300 } });
    await host.offer();
    assert.match(textOf(await host.call("web__echo")), /"web" did not answer in time\./);
  });

  test("that break off a call leave its effect unknown, those that are gone do not", async (t) => {
    let gone: ServerResponse["socket"] = null;
    const server = await httpServer(t, ({ method }, response) => {
      if (method !== "tools/call") return false;
      if (gone) response.writeHead(502).end();
      else gone = response.socket;
      gone?.destroy();
      return true;
    });
    const host = hosted(t, { web: { url: server.url } });
    await host.offer();
    const broken = textOf(await host.call("web__echo"));
    assert.match(broken, /"web" cannot be reached: .*It is unknown whether the call had an effect\.$/);
    assert.match(
      textOf(await host.call("web__echo")),
      /HTTP 502\. It is unknown whether the call had an effect\.$/,
    );
    await server.end();
    // A reused connection may end in the middle of the first request.
    await until(async () =>
      /ECONNREFUSED [\d.:]+$/.test(textOf(await host.call("web__echo")).replace(/\.$/, "")),
    );
  });

  test("that flood are cut off", async (t) => {
    let sent = 0;
    const server = await httpServer(t, ({ method }, response) => {
      if (method !== "tools/call") return false;
      response.writeHead(200, { "content-type": "application/json" });
      const chunk = "x".repeat(1_000_000);
      const more = (): void => {
        sent += chunk.length;
        if (!response.destroyed && sent < 200_000_000) response.write(chunk, more);
      };
      more();
      return true;
    });
    const host = hosted(t, { web: { url: server.url } });
    await host.offer();
    const outcome = await host.call("web__echo");
    assert.equal(outcome.isError, true);
    assert.match(textOf(outcome), /an answer has more than 33554432 bytes/);
    assert.ok(sent < 100_000_000);
    await until(() => host.servers.known().tools.length === 1);
  });
});
