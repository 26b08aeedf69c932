import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import type { Logger } from "../../../packages/core/src/platform/log.ts";
import { RunTokens } from "../../../packages/gateway/src/server/run-tokens.ts";
import { WireServer } from "../../../packages/gateway/src/server/gateway-server.ts";
import {
  ask,
  chunk,
  gatewayTo,
  LAST_CHUNK,
  rawEndpoint,
  say,
  STREAM_HEAD,
  type Gateway,
  type RawEndpoint,
} from "./support.ts";
import { until } from "../../runner/until.ts";
import { turns } from "../../runner/loop-turns.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

async function withGateway(
  work: (gateway: Gateway, endpoint: RawEndpoint) => Promise<void>,
  options: Parameters<typeof gatewayTo>[1] = {},
): Promise<void> {
  const endpoint = await rawEndpoint((socket) => void socket.write(OK));
  const gateway = await gatewayTo(endpoint.baseUrl, options);
  try {
    await work(gateway, endpoint);
  } finally {
    await gateway.close();
    await endpoint.close();
  }
}

function messageOf(body: Buffer): string {
  return (JSON.parse(body.toString()) as { error: { message: string } }).error.message;
}

test("a token is read from our header, as bearer, as API key, or from the path, and never sent upstream", async () => {
  await withGateway(async ({ route, calls }, endpoint) => {
    const { token, baseUrl } = route;
    const ways = [
      { headers: route.headers },
      { headers: { Authorization: `Bearer ${token}` } },
      { headers: { "X-Api-Key": token } },
      { path: `/t/${token}/v1/responses` },
      { path: `/t/${token}/responses` },
    ];
    for (const way of ways) assert.equal((await ask(baseUrl, way)).status, 200);
    assert.equal(endpoint.asked.length, ways.length);
    for (const { line, headers } of endpoint.asked) {
      assert.equal(line, "POST /v1/responses HTTP/1.1");
      assert.ok(!JSON.stringify(headers).includes(token));
    }
    for (const call of calls) {
      assert.equal(call.path, "/responses");
      assert.ok(!JSON.stringify([call.headers, call.rawHeaders]).includes(token));
    }
  });
});

test("with the token in our header or the path, the harness's own credentials are sent upstream", async () => {
  await withGateway(async ({ route }, endpoint) => {
    const own = { Authorization: "Bearer sk-own", "X-API-Key": "own" };
    await ask(route.baseUrl, { headers: { ...own, ...route.headers } });
    await ask(route.baseUrl, { headers: own, path: `/t/${route.token}/v1/responses` });
    for (const { headers } of endpoint.asked) {
      const at = headers.indexOf("Authorization");
      assert.deepEqual(headers.slice(at, at + 4), ["Authorization", "Bearer sk-own", "X-API-Key", "own"]);
    }
    assert.equal(endpoint.asked.length, 2);
  });
});

test("a wrong, missing, truncated or replayed token gets the same error, in the format of the path's protocol", async () => {
  await withGateway(async ({ route, server }, endpoint) => {
    const gone = await server.route(async (call) =>
      call.reply({ status: 200, headers: {}, body: Buffer.alloc(0) }),
    );
    assert.equal((await ask(gone.baseUrl, { headers: gone.headers })).status, 200);
    await gone.close();
    const { token, baseUrl } = route;
    const wrong = [
      {},
      { headers: { "x-pagurus-token": "wrong" } },
      { headers: { "x-pagurus-token": token.slice(1) } },
      { headers: { "x-pagurus-token": `${token}x` } },
      { headers: { "x-pagurus-token": "" } },
      { headers: gone.headers },
      { headers: { authorization: token } },
      { headers: { authorization: `Basic ${token}` } },
      { path: `/t/${gone.token}/v1/responses` },
      { path: "/t//v1/responses" },
      // If our own header is set, only it counts.
      { headers: { "x-pagurus-token": "wrong", authorization: `Bearer ${token}` } },
      { headers: ["x-pagurus-token", token, "X-Pagurus-Token", token, "host", new URL(baseUrl).host] },
    ];
    const bodies = new Set<string>();
    for (const way of wrong) {
      const met = await ask(baseUrl, way);
      assert.equal(met.status, 401);
      bodies.add(met.body.toString());
    }
    assert.equal(bodies.size, 1);
    const messages = await ask(baseUrl, { path: "/v1/messages?beta=true" });
    assert.deepEqual(JSON.parse(messages.body.toString()), {
      type: "error",
      error: { type: "authentication_error", message: "The request has no valid token of the gateway." },
    });
    assert.equal(endpoint.asked.length, 0);
  });
});

test("a refused request with a long body has its answer before the connection closes", async () => {
  await withGateway(async ({ route }) => {
    const met = await ask(route.baseUrl, { body: Buffer.alloc(8 * 2 ** 20) });
    assert.equal(met.status, 401);
    assert.equal(met.complete, true);
  });
});

test("tokens have 256 bits, are unique, and resolve only to their owner", () => {
  const tokens = new RunTokens<number>();
  const issued = Array.from({ length: 1_000 }, (_each, owner) => tokens.issue(owner));
  assert.equal(new Set(issued.map(({ token }) => token)).size, 1_000);
  for (const [owner, { token, revoke }] of issued.entries()) {
    assert.equal(Buffer.from(token, "base64url").length, 32);
    assert.equal(tokens.ownerOf(token), owner);
    if (owner % 2 === 0) revoke();
  }
  assert.deepEqual(
    issued.map(({ token }) => tokens.ownerOf(token)),
    issued.map((_each, owner) => (owner % 2 === 0 ? undefined : owner)),
  );
  const valid = issued[1]?.token ?? "";
  const turned = `${valid.slice(0, -1)}${valid.endsWith("A") ? "E" : "A"}`;
  for (const wrong of [turned, `${valid.slice(0, 8)}${valid.slice(9)}`, valid.slice(0, 8), `${valid}=`, ""])
    assert.equal(tokens.ownerOf(wrong), undefined, wrong);
});

test("requests of a web page or to another name of this machine are refused, valid token or not", async () => {
  await withGateway(async ({ route }, endpoint) => {
    const { port } = new URL(route.baseUrl);
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await ask(route.baseUrl, { headers: { ...route.headers, ...headers } })).status;
    for (const origin of ["http://example.com", `http://127.0.0.1:${port}`, "null", ""])
      assert.equal(await status({ origin }), 401, origin);
    for (const host of ["example.com", `example.com:${port}`, "127.0.0.1", `127.0.0.1:${Number(port) + 1}`])
      assert.equal(await status({ host }), 401, host);
    assert.equal(endpoint.asked.length, 0);
    for (const host of [`127.0.0.1:${port}`, `LOCALHOST:${port}`])
      assert.equal(await status({ host }), 200, host);
    const old = await say(route.baseUrl, `GET /t/${route.token}/v1/x HTTP/1.0\r\n\r\n`);
    assert.match(old, /^HTTP\/1.1 401 /);
  });
});

test("input that is no HTTP, or has an invalid body, gets a clear answer and a closed connection", async () => {
  await withGateway(async ({ route }) => {
    const { host } = new URL(route.baseUrl);
    const head = `POST /t/${route.token}/v1/responses HTTP/1.1\r\nhost: ${host}\r\n`;
    const malformed = [
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
      "HELLO\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      `${head}content-length: 5\r\ncontent-length: 6\r\n\r\nhello`,
      `${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      `${head}content-length: -1\r\n\r\n`,
      `${head}transfer-encoding: chunked\r\n\r\nzz\r\n`,
      `${head}bad header\r\n\r\n`,
    ];
    for (const bytes of malformed) assert.match(await say(route.baseUrl, bytes), /^HTTP\/1.1 400 /, bytes);
    assert.equal((await ask(route.baseUrl, { headers: route.headers })).status, 200);
  });
});

test("a handler's failure is reported in the protocol, and the message never contains what it read", async () => {
  const server = new WireServer();
  const failing = await server.route(async () => Promise.reject(new Error("the secret words")));
  const silent = await server.route(async () => undefined);
  for (const { baseUrl, headers } of [failing, silent]) {
    const { status, body } = await ask(baseUrl, { headers });
    assert.equal(status, 500);
    assert.match(messageOf(body), /^The model gateway (failed|did not answer)/);
  }
  await server.close();
});

test("the server runs while a route is open, and starts again at another port", async () => {
  const server = new WireServer();
  const open = async () =>
    server.route(async (call) => call.reply({ status: 200, headers: {}, body: Buffer.from("hi") }));
  const [first, second] = await Promise.all([open(), open()]);
  assert.equal(first.baseUrl, second.baseUrl);
  assert.match(first.baseUrl, /^http:\/\/127\.0\.0\.1:\d+$/);
  await first.close();
  await first.close();
  assert.equal((await ask(second.baseUrl, { headers: second.headers })).status, 200);
  await second.close();
  await assert.rejects(ask(second.baseUrl, { headers: second.headers }), /ECONNREFUSED/);
  // Closed and opened at once: the new route must not close with the old server.
  const third = await open();
  const closing = third.close();
  const fourth = await open();
  await closing;
  assert.equal((await ask(fourth.baseUrl, { headers: fourth.headers })).body.toString(), "hi");
  await server.close();
});

test("a route that closes lets a stream end within the deadline, and cuts it then", async () => {
  const sockets: Socket[] = [];
  const endpoint = await rawEndpoint((socket) => {
    sockets.push(socket);
    socket.write(STREAM_HEAD);
    socket.write(chunk("data: 1\n\n"));
  });
  const gateway = await gatewayTo(endpoint.baseUrl, { limits: { closeMs: 300 } });
  const other = await gateway.server.route(async (call) =>
    call.reply({ status: 200, headers: {}, body: Buffer.alloc(0) }),
  );
  const { route } = gateway;
  const [ends, hangs] = [0, 1].map(() => ask(route.baseUrl, { headers: route.headers }));
  await until(() => sockets.length === 2);
  // Requests are answered in order of arrival, on any connection.
  const closing = route.close();
  assert.equal((await ask(route.baseUrl, { headers: route.headers })).status, 401);
  assert.equal((await ask(other.baseUrl, { headers: other.headers })).status, 200);
  void turns().then(() => sockets[0]?.write(`${chunk("data: 2\n\n").toString()}${LAST_CHUNK}`));
  await closing;
  const met = await Promise.all([ends, hangs]);
  assert.equal(met.filter((each) => each?.complete === true).length, 1);
  await until(() => endpoint.sockets.size <= 1);
  assert.equal(gateway.passed.length, 2);
  assert.deepEqual(
    gateway.passed
      .map(({ cut, left }) => `cut ${cut}, left ${left}`)
      .toSorted((one, other) => one.localeCompare(other)),
    ["cut false, left false", "cut false, left true"],
  );
  await gateway.close();
  await endpoint.close();
});

test("logs contain only numbers: no token, path, header or body", async () => {
  const lines: string[] = [];
  const log = (message: string, fields?: object): void => void lines.push(JSON.stringify([message, fields]));
  const logger: Logger = { debug: log, info: log, warn: log, error: log, child: () => logger };
  await withGateway(
    async ({ route }) => {
      const headers = { ...route.headers, "x-own": "the-header" };
      await ask(route.baseUrl, { headers, path: "/v1/the-path?q=the-query", body: Buffer.from("the-body") });
      await ask(route.baseUrl, { headers: { "x-pagurus-token": "the-wrong" } });
      await say(route.baseUrl, "GET / the-junk\r\n\r\n");
      const text = lines.join("\n");
      assert.match(text, /"bytesIn":8,"bytesOut":2/);
      assert.doesNotMatch(text, /the-/);
      assert.ok(!text.includes(route.token));
    },
    { logger },
  );
});

test("an open port serves this machine's loopback only", async () => {
  await withGateway(async ({ route }) => {
    const { port } = new URL(route.baseUrl);
    const outcome = await new Promise((resolve) => {
      const socket = connect(Number(port), "127.0.0.2");
      socket.on("connect", () => resolve("connected")).on("error", () => resolve("refused"));
      socket.on("close", () => socket.destroy());
    });
    assert.equal(outcome, "refused");
  });
});
