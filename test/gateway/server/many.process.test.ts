import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Agent } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { ServerRoute } from "../../../packages/gateway/src/server/gateway-server.ts";
import { FULL } from "../../runner/short-form.ts";
import { ask, chunk, gatewayTo, LAST_CHUNK, rawEndpoint, STREAM_HEAD, type Met } from "./support.ts";
import { longTest } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";

const STREAMS = FULL ? 2_000 : 600;
/**
 * Number of requests started together. If a system lets only 128 connections wait to be accepted, the others are retried after up to
 * a minute.
 */
const TOGETHER = 100;
const REQUESTS = FULL ? 5_000 : 2_000;
/** Less than 2 KiB a request. */
const MOST_GROWTH_BYTES = (FULL ? 8 : 4) * 2 ** 20;
const EVENTS = ["a", "b", "c"];

longTest(`${STREAMS} concurrent streams pass, each with its own text`, async (t) => {
  const open: { socket: Socket; name: string }[] = [];
  const endpoint = await rawEndpoint((socket, { line }) => {
    const name = /\/v1\/(\d+)/.exec(line)?.[1];
    // Other connections to this port are not counted.
    if (name !== undefined) open.push({ socket, name });
    socket.write(STREAM_HEAD);
  });
  const gateway = await gatewayTo(endpoint.baseUrl, { limits: { maxRequests: STREAMS } });
  t.after(async () => {
    await gateway.close();
    await endpoint.close();
  });
  const { route } = gateway;
  const asked: Promise<Met>[] = [];
  while (asked.length < STREAMS) {
    for (let begun = 0; begun < TOGETHER; begun++) {
      const name = String(asked.length);
      asked.push(
        ask(route.baseUrl, { path: `/v1/${name}`, headers: route.headers, body: Buffer.from(name) }),
      );
    }
    await until(() => open.length === asked.length);
  }
  for (const event of EVENTS) for (const { socket, name } of open) socket.write(chunk(`${event}${name};`));
  for (const { socket } of open) socket.write(LAST_CHUNK);
  for (const [name, met] of (await Promise.all(asked)).entries()) {
    assert.equal(met.complete, true);
    assert.equal(met.body.toString(), EVENTS.map((event) => `${event}${name};`).join(""));
  }
});

/** A cheap endpoint, for counting. */
function plainEndpoint(): Promise<{ baseUrl: string; sockets: Set<Socket>; close(): void }> {
  const sockets = new Set<Socket>();
  const answer = `${STREAM_HEAD}${chunk("data: 1\n\n").toString()}${LAST_CHUNK}`;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("data", () => socket.write(answer)).on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () =>
      resolve({
        baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
        sockets,
        close: () => {
          server.close();
          for (const socket of sockets) socket.destroy();
        },
      }),
    );
  });
}

/** Disconnects in the middle of a request, on a connection of its own. */
function leave({ baseUrl, token }: ServerRoute): Promise<void> {
  const { host, port } = new URL(baseUrl);
  const socket = connect(Number(port), "127.0.0.1", () => {
    socket.write(`POST /t/${token}/v1/x HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 9\r\n\r\nhalf`);
    setTimeout(() => socket.destroy(), 2);
  });
  return new Promise((resolve) => socket.on("error", () => undefined).on("close", () => resolve()));
}

const EVENTS_OF_SOCKETS = ["close", "error", "drain", "data", "end", "timeout", "finish"];

function listenersOf(sockets: ReadonlySet<Socket>): string[] {
  const counts = [...sockets].map((socket) =>
    EVENTS_OF_SOCKETS.map((event) => `${event} ${socket.listenerCount(event)}`).join(", "),
  );
  return [...new Set(counts)];
}

longTest(`${REQUESTS} requests, complete or aborted, leak no socket, listener or memory`, async (t) => {
  const endpoint = await plainEndpoint();
  t.after(() => endpoint.close());
  const gateway = await gatewayTo(endpoint.baseUrl);
  t.after(() => gateway.close());
  const { route } = gateway;
  const served = new Set<Socket>();
  const onServed = (message: unknown): void => {
    const { socket, server } = message as { socket: Socket; server: { address(): AddressInfo } };
    if (server.address()?.port !== Number(new URL(route.baseUrl).port) || served.has(socket)) return;
    served.add(socket);
    socket.once("close", () => served.delete(socket));
  };
  subscribe("http.server.request.start", onServed);
  t.after(() => unsubscribe("http.server.request.start", onServed));
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  t.after(() => agent.destroy());
  const body = Buffer.alloc(2_000, "x");
  const some = async (count: number): Promise<void> => {
    const met = await Promise.all(
      Array.from({ length: count }, () => ask(route.baseUrl, { headers: route.headers, agent, body })),
    );
    for (const each of met) assert.equal(each.body.toString(), "data: 1\n\n");
  };
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const memory = (): number => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  await some(200);
  await until(() => gateway.passed.length === 200);
  const before = { listeners: listenersOf(served), memory: memory() };
  for (let done = 200; done < REQUESTS; done += 200) {
    await some(200);
    await Promise.all(Array.from({ length: 5 }, () => leave(route)));
    gateway.calls.length = 0;
    gateway.passed.length = 0;
  }
  await until(() => served.size <= 20);
  assert.deepEqual(listenersOf(served), before.listeners);
  assert.ok(endpoint.sockets.size <= 256, `${endpoint.sockets.size} connections to the endpoint`);
  gateway.calls.length = 0;
  gateway.passed.length = 0;
  // Buffers are released a little after they are found to be unused.
  await until(() => memory() - before.memory < MOST_GROWTH_BYTES);
  agent.destroy();
  await gateway.close();
  await until(() => served.size === 0);
});
