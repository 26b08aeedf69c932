/** The HTTP server ends what a token has open whatever an API that is mounted does about it. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { afterEach, test } from "node:test";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { OpenByToken } from "../../packages/server/src/access/open-by-token.ts";
import { InFlight } from "../../packages/server/src/access/in-flight.ts";
import { RateLimits } from "../../packages/server/src/access/rate-limits.ts";
import {
  HttpServer,
  type HttpServerOptions,
  type MountedApi,
} from "../../packages/server/src/http-server.ts";

const TOKEN = "0123456789ab";
const caller = { tokenId: TOKEN, scope: "chat", sessions: "*" } as const;
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

/** A server whose one token is valid until `end` is called. */
async function serverOf(
  api: Omit<MountedApi, "handles">,
): Promise<{ port: number; open: OpenByToken; end: () => void }> {
  let isValid = true;
  const open = new OpenByToken({ valid: (ids) => new Set(isValid ? ids : []) });
  undo.push(() => open.close());
  const options = {
    parts: { opened: open },
    limits: new RateLimits(),
    inFlight: new InFlight(),
    sources: { tokens: { callerOf: () => caller }, localKey: "x" },
    open: [],
    allowed: { hosts: new Set<string>(), anyAddress: false, origins: new Set<string>() },
    mounted: [{ handles: () => true, ...api }],
    logger: silentLogger,
  };
  const http = new HttpServer(options as unknown as HttpServerOptions);
  undo.push(() => http.close(0));
  const port = await http.listen(0, "127.0.0.1");
  return { port, open, end: () => (isValid = false) };
}

const headers = { authorization: "Bearer pgr_x" };

for (const [name, serve] of Object.entries<MountedApi["serve"]>({
  "never answers": () => new Promise(() => undefined),
  "sends a beginning and nothing more": (_request, response) => {
    response.writeHead(200).write("a beginning");
    return new Promise(() => undefined);
  },
  "writes on without end": (_request, response) => {
    response.writeHead(200);
    const more = (): void => {
      while (!response.closed && response.write("more".repeat(100)));
    };
    response.on("drain", more);
    more();
    return new Promise(() => undefined);
  },
}))
  test(`a request is cut when its token ends, of an API that ${name}`, async () => {
    const { port, open, end } = await serverOf({ serve });
    const asked = request({ port, host: "127.0.0.1", headers });
    asked.on("response", (answer) => answer.resume().on("error", () => undefined));
    asked.on("error", () => undefined).end();
    const [socket] = await once(asked, "socket");
    while (open.count(TOKEN) === 0) await new Promise((resolve) => setImmediate(resolve));
    const closed = once(socket, "close");
    end();
    await closed;
    assert.equal(open.count(), 0);
  });

test("a WebSocket is closed with a code and a reason when its token ends, of an API that ignores it", async () => {
  const { port, open, end } = await serverOf({
    serve: () => Promise.resolve(),
    upgrade: (_request, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
      return true;
    },
  });
  const asked = request({
    port,
    host: "127.0.0.1",
    headers: { ...headers, connection: "upgrade", upgrade: "websocket" },
  }).end();
  const [, socket] = (await once(asked, "upgrade")) as [unknown, NodeJS.ReadWriteStream];
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  const closed = once(socket, "close");
  end();
  await closed;
  const frame = Buffer.concat(chunks);
  assert.deepEqual([frame[0], frame.readUInt16BE(2)], [0x88, 4401]);
  assert.match(frame.subarray(4).toString(), /revoked or has expired/);
  assert.equal(open.count(), 0);
});

test("the register forgets a request with its answer, and never takes one whose client has left", async () => {
  const { port, open } = await serverOf({
    serve: (_request, response) => Promise.resolve(void response.end("done")),
  });
  const asked = request({ port, host: "127.0.0.1", headers }).end();
  const [answer] = (await once(asked, "response")) as [NodeJS.ReadableStream];
  answer.resume();
  await once(answer, "end");
  assert.equal(open.count(), 0);
});
