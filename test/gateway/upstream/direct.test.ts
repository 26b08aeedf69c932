import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { Dialect } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { directUpstream, type DirectOptions } from "../../../packages/gateway/src/upstream/direct.ts";
import type { UpstreamAnswer, UpstreamRequest } from "../../../packages/gateway/src/upstream/upstream.ts";
import { chunk, rawEndpoint, STREAM_HEAD, type Asked, type RawEndpoint } from "../server/support.ts";
import { until } from "../../runner/until.ts";
import { turns } from "../../runner/loop-turns.ts";

function requestOf(parts: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return {
    method: "POST",
    path: "/responses",
    rawHeaders: [],
    body: [],
    read: undefined,
    dialect: {} as Dialect,
    signal: new AbortController().signal,
    ...parts,
  };
}

function ok(body: string, headers = ""): string {
  return `HTTP/1.1 200 OK\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;
}

async function textOf({ stream }: UpstreamAnswer): Promise<string> {
  let text = "";
  for await (const piece of stream) text += String(piece);
  return text;
}

async function withEndpoint(
  answer: (socket: Socket, asked: Asked, count: number) => void,
  work: (endpoint: RawEndpoint) => Promise<void>,
): Promise<void> {
  let count = 0;
  const endpoint = await rawEndpoint((socket, asked) => answer(socket, asked, count++));
  try {
    await work(endpoint);
  } finally {
    await endpoint.close();
  }
}

const upstreamTo = ({ baseUrl }: RawEndpoint, options: Partial<DirectOptions> = {}) =>
  directUpstream({ baseUrl, label: "test", pauseMs: 5, ...options });

test("a request keeps its headers, in order and case, except those of the connection and the gateway", async () => {
  await withEndpoint(
    (socket) => void socket.write(ok("fine")),
    async (endpoint) => {
      const rawHeaders = [
        ["Host", "127.0.0.1:1", "User-Agent", "codex/1", "Connection", "keep-alive, X-Hop", "X-Hop", "1"],
        ["content-TYPE", "application/json", "X-Pagurus-Token", "secret", "Authorization", "Bearer own"],
        ["Content-Length", "3", "x-a", "1", "X-A", "2", "TE", "trailers", "Proxy-Authorization", "p"],
        ["Expect", "100-continue", "Accept-Encoding", "zstd", "x-bytes", "\xe9"],
      ].flat();
      const body = [Buffer.from("hel"), Buffer.alloc(0), Buffer.from("lo")];
      const answer = await upstreamTo(endpoint).send(
        requestOf({ path: "/messages?beta=true", rawHeaders, body }),
      );
      assert.equal(await textOf(answer), "fine");
      const [asked] = endpoint.asked;
      assert.equal(asked?.line, "POST /v1/messages?beta=true HTTP/1.1");
      const expected = [
        ["Host", new URL(endpoint.baseUrl).host, "User-Agent", "codex/1"],
        ["content-TYPE", "application/json", "Authorization", "Bearer own", "Content-Length", "5"],
        ["x-a", "1", "X-A", "2", "Accept-Encoding", "zstd", "x-bytes", "\xe9"],
      ].flat();
      assert.deepEqual(asked?.headers, expected);
      assert.equal(asked?.body.toString(), "hello");
    },
  );
});

test("configured credentials replace the harness's, and other configured headers are sent too", async () => {
  await withEndpoint(
    (socket) => void socket.write(ok("")),
    async (endpoint) => {
      const upstream = upstreamTo(endpoint, { headers: { Authorization: "Bearer host", "x-v": "2" } });
      const rawHeaders = [
        "authorization",
        "Bearer own",
        "X-Api-Key",
        "own",
        "X-V",
        "1",
        "cookie",
        "c",
        "Accept",
        "b",
      ];
      await upstream.send(requestOf({ rawHeaders, body: [Buffer.from("x")] }));
      const expected = ["Accept", "b", "Content-Length", "1", "Authorization", "Bearer host", "x-v", "2"];
      assert.deepEqual(endpoint.asked[0]?.headers.slice(2), expected);
    },
  );
});

test("a request without a body is framed as its method requires, and a query of the base URL stays", async () => {
  await withEndpoint(
    (socket) => void socket.write(ok("")),
    async (endpoint) => {
      const upstream = upstreamTo(endpoint, { baseUrl: `${endpoint.baseUrl}/?api-version=3` });
      for (const [method, path] of [
        ["GET", "/models"],
        ["POST", "/responses?x=1"],
      ] as const)
        await upstream.send(requestOf({ method, path })).then(textOf);
      const [got, posted] = endpoint.asked;
      assert.deepEqual([got?.line, got?.headers.length], ["GET /v1/models?api-version=3 HTTP/1.1", 2]);
      assert.equal(posted?.line, "POST /v1/responses?x=1&api-version=3 HTTP/1.1");
      assert.deepEqual(posted?.headers.slice(2), ["Content-Length", "0"]);
    },
  );
});

test("a redirect is neither followed nor passed on, since the harness would follow it with its credentials", async () => {
  await withEndpoint(
    (socket) =>
      void socket.write("HTTP/1.1 307 Go\r\nLocation: https://other.test/v2\r\nContent-Length: 0\r\n\r\n"),
    async (endpoint) => {
      await assert.rejects(upstreamTo(endpoint, { attempts: 3 }).send(requestOf()), {
        code: "model_unavailable",
        message: /redirects to other\.test, which is not followed, since the request carries credentials/,
      });
      assert.equal(endpoint.asked.length, 1);
    },
  );
});

test("an answer with a redirect's status and no address passes", async () => {
  await withEndpoint(
    (socket) => void socket.write("HTTP/1.1 301 Gone\r\nContent-Length: 0\r\n\r\n"),
    async (endpoint) => {
      const { status, rawHeaders } = await upstreamTo(endpoint).send(requestOf());
      assert.deepEqual([status, rawHeaders], [301, ["Content-Length", "0"]]);
    },
  );
});

test("connections are reused, and one that the endpoint had closed in between is replaced once", async () => {
  const used: Socket[] = [];
  await withEndpoint(
    (socket, _asked, count) => {
      used.push(socket);
      // The second request's connection is reset during it; a new one is answered.
      if (count === 1) socket.resetAndDestroy();
      else socket.write(ok("fine"));
    },
    async (endpoint) => {
      const upstream = upstreamTo(endpoint);
      const body = [Buffer.from("same")];
      for (let time = 0; time < 2; time++) {
        assert.equal(await upstream.send(requestOf({ body })).then(textOf), "fine");
        await turns();
      }
      assert.equal(used[0], used[1]);
      assert.notEqual(used[1], used[2]);
      assert.deepEqual(
        endpoint.asked.map((asked) => asked.body.toString()),
        ["same", "same", "same"],
      );
    },
  );
});

test("a new connection that fails before an answer is not stale: the request is not sent again", async () => {
  await withEndpoint(
    (socket) => void socket.resetAndDestroy(),
    async (endpoint) => {
      await assert.rejects(upstreamTo(endpoint).send(requestOf()), { code: "model_unavailable" });
      assert.equal(endpoint.asked.length, 1);
    },
  );
});

test("with retries configured, failures before an answer are retried; without, they are reported at once", async () => {
  const replies = ["reset", "HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n", ok("fine")];
  await withEndpoint(
    (socket, _asked, count) => {
      const reply = replies[count % 3] ?? "";
      if (reply === "reset") socket.resetAndDestroy();
      else socket.write(reply);
    },
    async (endpoint) => {
      assert.equal(await upstreamTo(endpoint, { attempts: 3 }).send(requestOf()).then(textOf), "fine");
      assert.equal(endpoint.asked.length, 3);
      await assert.rejects(upstreamTo(endpoint).send(requestOf()), { code: "model_unavailable" });
      assert.equal((await upstreamTo(endpoint).send(requestOf())).status, 503);
      assert.equal(endpoint.asked.length, 5);
    },
  );
});

test("a 429 is retried only with a stated pause that is not too long", async () => {
  for (const [header, times] of [
    ["", 1],
    ["retry-after: 0\r\n", 2],
    ["retry-after: 3600\r\n", 1],
    ["retry-after: soon\r\n", 1],
  ] as const) {
    await withEndpoint(
      (socket) => void socket.write(`HTTP/1.1 429 Slow\r\n${header}content-length: 0\r\n\r\n`),
      async (endpoint) => {
        assert.equal((await upstreamTo(endpoint, { attempts: 2 }).send(requestOf())).status, 429);
        assert.equal(endpoint.asked.length, times, header);
      },
    );
  }
});

test("an answer that has begun is never retried: its cut is an error of its stream", async () => {
  await withEndpoint(
    (socket) => {
      socket.write(STREAM_HEAD);
      socket.write(chunk("half"));
      void turns().then(() => socket.destroy());
    },
    async (endpoint) => {
      const answer = await upstreamTo(endpoint, { attempts: 5 }).send(requestOf());
      await assert.rejects(textOf(answer), { code: "ECONNRESET" });
      assert.equal(endpoint.asked.length, 1);
    },
  );
});

test("the error for a dead endpoint has host and port, without user, path or query of its address", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const upstream = directUpstream({ baseUrl: `http://user:pw@127.0.0.1:${port}/v1/p?key=k`, label: "test" });
  await assert.rejects(upstream.send(requestOf()), {
    code: "model_unavailable",
    message: `The model's endpoint at 127.0.0.1:${port} did not answer (ECONNREFUSED); check that it runs and that the base URL is right.`,
  });
  assert.throws(() => directUpstream({ baseUrl: "ftp://h/key", label: "test" }), { code: "config_invalid" });
});

test("an abort ends the request before its answer, in a pause, and during its stream", async () => {
  await withEndpoint(
    (socket, { line }) => {
      if (line.includes("/pause"))
        socket.write("HTTP/1.1 503 No\r\nretry-after: 9\r\ncontent-length: 0\r\n\r\n");
      if (line.includes("/stream")) socket.write(STREAM_HEAD);
    },
    async (endpoint) => {
      const upstream = upstreamTo(endpoint, { attempts: 2 });
      for (const path of ["/hang", "/pause"]) {
        const controller = new AbortController();
        const sent = upstream.send(requestOf({ path, signal: controller.signal }));
        await until(() => endpoint.asked.some(({ line }) => line.includes(path)));
        void turns().then(() => controller.abort());
        await assert.rejects(sent, { code: "turn_aborted" });
      }
      await assert.rejects(upstream.send(requestOf({ signal: AbortSignal.abort() })), {
        code: "turn_aborted",
      });
      const controller = new AbortController();
      const answer = await upstream.send(requestOf({ path: "/stream", signal: controller.signal }));
      controller.abort();
      await assert.rejects(textOf(answer));
      await until(() => endpoint.sockets.size === 0);
      assert.equal(endpoint.asked.length, 3);
    },
  );
});

test("a signal that many requests share keeps no listener of ended ones", async () => {
  await withEndpoint(
    (socket) => void socket.write(ok("fine")),
    async (endpoint) => {
      const { signal } = new AbortController();
      let listeners = 0;
      const counted = new Proxy(signal, {
        get: (target, key) => {
          if (key === "addEventListener") listeners += 1;
          if (key === "removeEventListener") listeners -= 1;
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === "function" ? (value.bind(target) as unknown) : value;
        },
      });
      const upstream = upstreamTo(endpoint);
      for (let time = 0; time < 50; time++) await upstream.send(requestOf({ signal: counted })).then(textOf);
      await until(() => listeners === 0);
      assert.ok(endpoint.sockets.size <= 2);
    },
  );
});
