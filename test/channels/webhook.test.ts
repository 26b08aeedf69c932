import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, it } from "node:test";
import type {
  ChannelConnection,
  ChannelPort,
  IncomingMessage as Message,
} from "../../packages/contract/src/channel/channel.ts";
import { createWebhookChannel } from "../../packages/channels/src/webhook/webhook-channel.ts";
import {
  signedHeaders,
  verifiedId,
  WebhookRoutes,
} from "../../packages/channels/src/webhook/webhook-routes.ts";

const SECRET = "a secret of many characters";
const BODY = JSON.stringify({ from: "build", text: "The build is red." });

async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("a webhook", () => {
  let url: string;
  let server: Server;
  let connection: ChannelConnection | undefined;
  let isDiskFull = false;
  const received: Message[] = [];
  const routes = new WebhookRoutes();
  const port: ChannelPort = {
    cursor: undefined,
    receive: (message) => {
      if (isDiskFull) return Promise.reject(new Error("full"));
      if (message) received.push(message);
      return Promise.resolve();
    },
    missed: () => undefined,
  };

  beforeEach(async () => {
    server = createServer((request, response) => void routes.serve(request, response));
    url = await listening(server);
    received.length = 0;
    isDiskFull = false;
  });
  afterEach(async () => {
    await connection?.close();
    server.close();
  });

  async function connect(to?: string): Promise<ChannelConnection> {
    const config = { kind: "webhook", secret: SECRET, ...(to === undefined ? {} : { url: to }) };
    connection = await createWebhookChannel("ci", config, {}, { webhooks: routes }).connect(
      port,
      new AbortController().signal,
    );
    return connection;
  }

  async function post(headers: Record<string, string>, body: string = BODY): Promise<number> {
    return (await fetch(`${url}/hooks/ci`, { method: "POST", headers, body })).status;
  }

  const signed = (id = "m-1", at = Date.now(), body = BODY): Record<string, string> =>
    signedHeaders(SECRET, id, body, at);

  it("that is signed is received with the sender's id, once it is on disk", async () => {
    await connect();
    assert.equal(await post(signed()), 202);
    assert.deepEqual(received, [{ id: "m-1", from: "build", text: "The build is red." }]);
    isDiskFull = true;
    assert.equal(await post(signed("m-2")), 503, "its sender has to try again");
    isDiskFull = false;
    assert.equal(await post(signed("m-2")), 202);
    assert.equal(received.length, 2);
  });

  it("that is not signed, changed or old is refused", async () => {
    await connect();
    const old = Date.now() - 6 * 60_000;
    const { "webhook-signature": signature = "", ...rest } = signed();
    const wrong: [string, Record<string, string>, string?][] = [
      ["no signature", rest],
      ["an empty one", { ...rest, "webhook-signature": "" }],
      ["that of another body", signed(), BODY.replace("red", "green")],
      ["that of another id", { ...signed(), "webhook-id": "m-9" }],
      ["another time", { ...signed(), "webhook-timestamp": String(Math.floor(Date.now() / 1_000) - 1) }],
      ["a replay", signed("m-1", old)],
      ["the future", signed("m-1", Date.now() + 6 * 60_000)],
      ["another secret", signedHeaders("another secret of many", "m-1", BODY, Date.now())],
    ];
    for (const [what, headers, body] of wrong) assert.equal(await post(headers, body), 401, what);
    assert.deepEqual(received, []);
    assert.equal(await post({ ...rest, "webhook-signature": `v1,AAAA ${signature}` }), 202, "one of several");
  });

  it("that is no message or too long is refused", async () => {
    await connect();
    for (const body of ["", "[]", '{"from": "a"}', '{"from": "a\\n", "text": "b"}', "{".repeat(1_000)])
      assert.equal(await post(signed("m-1", Date.now(), body), body), 400, body);
    const long = JSON.stringify({ from: "a", text: "x".repeat(300_000) });
    assert.equal(await post(signed("m-1", Date.now(), long), long), 413);
    assert.equal((await fetch(`${url}/hooks/ci`)).status, 405);
    assert.deepEqual(received, []);
  });

  it("of a channel that is not connected is not lost: its sender tries again", async () => {
    const made = await connect();
    await made.close();
    assert.equal(await made.ended, "it was closed");
    assert.equal(await post(signed()), 503);
  });

  it("is sent with a signature and an id that stays the same when it is repeated", async () => {
    const statuses = [500, 204, 410];
    const arrived: { id: string | undefined; body: string }[] = [];
    const take = async (request: IncomingMessage): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const body = Buffer.concat(chunks);
      arrived.push({ id: verifiedId(SECRET, request.headers, body, Date.now()), body: body.toString() });
    };
    const receiver = createServer((request, response) => {
      void take(request).then(() => response.writeHead(statuses.shift() ?? 204).end());
    });
    const address = await listening(receiver);
    const message = { id: "t-1-0", to: "build", isGroup: false, text: "It is fixed.", createdAt: 7 };
    const first = await connect(address);
    await assert.rejects(first.send(message), { code: "channel_failed", message: /its address answers 500/ });
    assert.match(await first.ended, /answers 500/);
    const next = await connect(address);
    await next.send(message);
    assert.deepEqual(arrived, [
      { id: "t-1-0", body: JSON.stringify({ id: "t-1-0", to: "build", text: "It is fixed.", createdAt: 7 }) },
      { id: "t-1-0", body: JSON.stringify({ id: "t-1-0", to: "build", text: "It is fixed.", createdAt: 7 }) },
    ]);
    await assert.rejects(next.send({ ...message, id: "t-2-0" }), { code: "channel_refused" });
    receiver.closeAllConnections();
    receiver.close();
    await once(receiver, "close");
    await assert.rejects(next.send(message), { code: "channel_failed" });
  });

  it("needs a secret that cannot be guessed, and https", () => {
    const made = (config: object): unknown => createWebhookChannel("ci", { kind: "webhook", ...config }, {});
    assert.throws(() => made({ secret: "short" }), /channels\.ci\.secret is shorter than 16/);
    assert.throws(
      () => made({ secret: SECRET, url: "http://example.org/x" }),
      /channels\.ci\.url is .*no https/,
    );
  });

  it("has the signature that Standard Webhooks documents", () => {
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const body = '{"test": 2432232314}';
    const headers = signedHeaders(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", body, 1_614_265_330_000);
    assert.equal(headers["webhook-signature"], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  });
});
