import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { Passed } from "../../../packages/gateway/src/server/relay.ts";
import { WireServer } from "../../../packages/gateway/src/server/gateway-server.ts";
import {
  ask,
  chunk,
  gatewayTo,
  LAST_CHUNK,
  rawEndpoint,
  STREAM_HEAD,
  type Asked,
  type Gateway,
  type RawEndpoint,
} from "./support.ts";
import { runs } from "../../runner/short-form.ts";
import { longTest } from "../../runner/long-tests.ts";
import { collectUnused } from "../../../packages/core/src/platform/heap-growth.ts";
import { until } from "../../runner/until.ts";
import { turns, untilStays } from "../../runner/loop-turns.ts";

async function through<T>(
  answer: (socket: Socket, asked: Asked) => void,
  options: Parameters<typeof gatewayTo>[1],
  work: (gateway: Gateway, endpoint: RawEndpoint) => Promise<T>,
): Promise<T> {
  const endpoint = await rawEndpoint(answer);
  const gateway = await gatewayTo(endpoint.baseUrl, options);
  try {
    return await work(gateway, endpoint);
  } finally {
    await gateway.close();
    await endpoint.close();
  }
}

/** The bytes cut at the places, which are shares of their length. */
function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [0, ...cuts.map((cut) => Math.floor(cut * bytes.length)), bytes.length].toSorted(
    (a, b) => a - b,
  );
  return at
    .slice(1)
    .map((end, index) => bytes.subarray(at[index], end))
    .filter(({ length }) => length > 0);
}

const bytes = fc.uint8Array({ maxLength: 60_000 }).map((array) => Buffer.from(array));
/** Uniform places; numbers of `fc.double` are nearly all close to 0. */
const cuts = fc.array(
  fc.nat(10_000).map((part) => part / 10_000),
  { maxLength: 8 },
);

test("bodies arrive byte for byte in both directions, for any chunks, with a length or without", async () => {
  let reply: { head: string; parts: Buffer[] } = { head: "", parts: [] };
  const answer = (socket: Socket): void => {
    // An informational answer is not passed to the client.
    socket.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
    socket.write(reply.head);
    for (const part of reply.parts) socket.write(part);
  };
  const seen: Buffer[] = [];
  await through(answer, { tap: (piece) => seen.push(piece) }, async ({ route }, endpoint) => {
    const property = fc.asyncProperty(
      fc.record({ sent: bytes, answered: bytes, cuts, isSized: fc.boolean(), isZipped: fc.boolean() }),
      async (run) => {
        seen.length = 0;
        endpoint.asked.length = 0;
        const body = run.isZipped ? gzipSync(run.answered) : run.answered;
        const length = `HTTP/1.1 200 Fine\r\nContent-Length: ${body.length}\r\n\r\n`;
        const parts = pieces(body, run.cuts);
        reply = run.isSized
          ? { head: length, parts }
          : { head: STREAM_HEAD, parts: [...parts.map(chunk), Buffer.from(LAST_CHUNK)] };
        const question = run.isSized ? run.sent : pieces(run.sent, run.cuts);
        const met = await ask(route.baseUrl, { headers: route.headers, body: question });
        assert.equal(met.complete, true);
        assert.ok(met.body.equals(body));
        assert.ok(Buffer.concat(seen).equals(body));
        assert.ok(endpoint.asked[0]?.body.equals(run.sent));
      },
    );
    await fc.assert(property, { numRuns: runs(150) });
  });
});

test("an answer's status and headers keep names, case, order and repetition, without hop-by-hop headers", async () => {
  const kept = [
    "Date",
    "then",
    "X-Request-ID",
    "r1",
    "set-cookie",
    "a=1",
    "Set-Cookie",
    "b=2",
    "x-Bytes",
    "\xe9",
  ];
  const hops = ["Connection", "close, X-Hop", "X-Hop", "1", "Keep-Alive", "timeout=1", "Proxy-Status", "p"];
  const lines = [...kept, ...hops, "Content-Length", "2"];
  const head = lines.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join("");
  const answer = (socket: Socket): void =>
    void socket.write(Buffer.from(`HTTP/1.1 418 Odd\r\n${head}\r\nok`, "latin1"));
  await through(answer, {}, async ({ route }) => {
    const { status, rawHeaders, body } = await ask(route.baseUrl, { headers: route.headers });
    assert.equal(status, 418);
    assert.deepEqual(rawHeaders.slice(0, kept.length + 2), [...kept, "Content-Length", "2"]);
    const rest = rawHeaders.slice(kept.length + 2).filter((_text, at) => at % 2 === 0);
    assert.deepEqual(
      rest.filter((name) => !/^(?:connection|keep-alive)$/i.test(name)),
      [],
    );
    assert.equal(body.toString(), "ok");
  });
});

test("each event reaches the client before the next is sent, and a tap that throws changes nothing", async () => {
  let endpointSocket: Socket | undefined;
  const answer = (socket: Socket): void => {
    endpointSocket = socket;
    socket.write(STREAM_HEAD);
  };
  const tap = (): never => {
    throw new Error("no");
  };
  await through(answer, { tap }, async ({ route, passed }) => {
    let received = "";
    const socket = connect(Number(new URL(route.baseUrl).port), "127.0.0.1");
    socket.on("data", (piece) => (received += piece.toString()));
    socket.write(`GET /t/${route.token}/v1/x HTTP/1.1\r\nhost: ${new URL(route.baseUrl).host}\r\n\r\n`);
    await until(() => received.includes("\r\n\r\n"));
    for (let event = 0; event < 20; event++) {
      endpointSocket?.write(chunk(`data: ${event}\n\n`));
      await until(() => received.includes(`data: ${event}\n\n`));
    }
    endpointSocket?.write(LAST_CHUNK);
    await until(() => received.endsWith(LAST_CHUNK) && passed.length === 1);
    assert.deepEqual(passed, [{ cut: false, left: false, bytes: 10 * 9 + 10 * 10 }]);
    socket.destroy();
  });
});

test("a cut of the endpoint at any event is a cut for the client, after all that came before", async () => {
  const events = Array.from({ length: 12 }, (_each, at) => `event: e${at}\ndata: {"n":${at}}\n\n`);
  const whole = events.join("");
  for (const way of ["close", "reset"] as const)
    for (const isSized of [false, true])
      for (let count = 0; count <= events.length; count++) {
        const sentEvents = events.slice(0, count);
        const answer = (socket: Socket): void => {
          socket.write(
            isSized ? `HTTP/1.1 200 OK\r\nContent-Length: ${whole.length + 1}\r\n\r\n` : STREAM_HEAD,
          );
          for (const event of sentEvents) socket.write(isSized ? event : chunk(event));
          // Data that a reset overtakes is already lost on the way to the gateway.
          void turns().then(() => (way === "close" ? socket.destroy() : socket.resetAndDestroy()));
        };
        await through(answer, {}, async ({ route, passed }) => {
          const met = await ask(route.baseUrl, { headers: route.headers });
          assert.equal(met.complete, false, `${way} ${isSized} ${count}`);
          assert.equal(met.body.toString(), sentEvents.join(""));
          await until(() => passed.length === 1);
          assert.deepEqual(passed, [{ cut: true, left: false, bytes: sentEvents.join("").length }]);
        });
      }
});

test("a client of HTTP/1.0 gets a reset if a closed connection would look like an end", async () => {
  const answer = (socket: Socket): void => {
    socket.write(STREAM_HEAD);
    socket.write(chunk("data: 1\n\n"));
    void turns().then(() => socket.destroy());
  };
  await through(answer, {}, async ({ route }) => {
    const { host, port } = new URL(route.baseUrl);
    const socket = connect(Number(port), "127.0.0.1");
    const outcome = new Promise<string>((resolve) => {
      socket.on("error", (error: Error & { code?: string }) => resolve(error.code ?? ""));
      socket.on("end", () => resolve("end"));
    });
    socket.resume().write(`GET /t/${route.token}/v1/x HTTP/1.0\r\nhost: ${host}\r\n\r\n`);
    assert.equal(await outcome, "ECONNRESET");
  });
});

longTest("a client that does not read pauses the endpoint, and gets everything once it does", async () => {
  const piece = Buffer.alloc(64 * 1_024, "0123456789abcdef");
  const total = 3_000;
  const sent = createHash("sha256");
  let written = 0;
  const answer = (socket: Socket): void => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total * piece.length}\r\n\r\n`);
    const go = (): void => {
      while (written < total) {
        written += 1;
        sent.update(piece);
        if (!socket.write(piece)) return void socket.once("drain", go);
      }
    };
    go();
  };
  await through(answer, {}, async ({ route, passed }) => {
    const socket = connect(Number(new URL(route.baseUrl).port), "127.0.0.1");
    socket.pause();
    socket.write(`GET /t/${route.token}/v1/x HTTP/1.1\r\nhost: ${new URL(route.baseUrl).host}\r\n\r\n`);
    const before = process.memoryUsage();
    await until(() => written > 10);
    await untilStays(() => written);
    // Of 188 MiB no more is in transit than the system's buffers take.
    assert.ok(written < total / 3, `${written} pieces`);
    // What was read and passed on is garbage by now.
    collectUnused();
    const held = process.memoryUsage().arrayBuffers - before.arrayBuffers;
    assert.ok(held < 16 * 2 ** 20, `${held} bytes`);
    const got = createHash("sha256");
    let size = 0;
    let head = true;
    socket.on("data", (bytesIn) => {
      const body = head ? bytesIn.subarray(bytesIn.indexOf("\r\n\r\n") + 4) : bytesIn;
      head = false;
      size += body.length;
      got.update(body);
    });
    socket.resume();
    await until(() => size === total * piece.length);
    assert.equal(got.digest("hex"), sent.digest("hex"));
    await until(() => passed.length === 1);
    assert.deepEqual(passed, [{ cut: false, left: false, bytes: total * piece.length }]);
    socket.destroy();
  });
});

test("a client that disconnects ends the endpoint's stream at once, and the call's signal fires", async () => {
  const answer = (socket: Socket): void => {
    socket.write(STREAM_HEAD);
    socket.write(chunk("data: 1\n\n"));
  };
  await through(answer, {}, async ({ route, passed, calls }, endpoint) => {
    const socket = connect(Number(new URL(route.baseUrl).port), "127.0.0.1");
    socket.write(`GET /t/${route.token}/v1/x HTTP/1.1\r\nhost: ${new URL(route.baseUrl).host}\r\n\r\n`);
    await new Promise((resolve) => socket.once("data", resolve));
    assert.equal(calls[0]?.signal.aborted, false);
    socket.destroy();
    await until(() => endpoint.sockets.size === 0 && passed.length === 1);
    assert.deepEqual([passed[0]?.cut, passed[0]?.left], [false, true]);
    assert.equal(calls[0]?.signal.aborted, true);
  });
});

test("an answer without a connection passes too, and is ended when its client disconnects", async () => {
  const streams: PassThrough[] = [];
  const server = new WireServer();
  const passed: Passed[] = [];
  const { baseUrl, headers, token } = await server.route(async (call) => {
    const stream = new PassThrough();
    streams.push(stream);
    stream.write("data: 1\n\n");
    const rawHeaders = ["content-type", "text/event-stream"];
    passed.push(await call.pass({ status: 200, rawHeaders, headers: {}, stream }));
  });
  const whole = ask(baseUrl, { headers });
  await until(() => streams.length === 1);
  streams[0]?.end("data: 2\n\n");
  assert.equal((await whole).body.toString(), "data: 1\n\ndata: 2\n\n");
  const broken = ask(baseUrl, { headers });
  await until(() => streams.length === 2);
  void turns().then(() => streams[1]?.destroy(new Error("cut")));
  assert.equal((await broken).complete, false);
  const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
  socket.write(`GET /t/${token}/v1/x HTTP/1.1\r\nhost: ${new URL(baseUrl).host}\r\n\r\n`);
  await new Promise((resolve) => socket.once("data", resolve));
  socket.destroy();
  await until(() => streams[2]?.destroyed === true && passed.length === 3);
  assert.deepEqual(
    passed.map(({ cut, left }) => [cut, left]),
    [
      [false, false],
      [true, false],
      [false, true],
    ],
  );
  await server.close();
});

test("a client that disconnects before the answer begins ends the endpoint's request", async () => {
  await through(
    () => undefined,
    {},
    async ({ route, calls }, endpoint) => {
      const socket = connect(Number(new URL(route.baseUrl).port), "127.0.0.1");
      socket.write(`GET /t/${route.token}/v1/x HTTP/1.1\r\nhost: ${new URL(route.baseUrl).host}\r\n\r\n`);
      await until(() => endpoint.asked.length === 1);
      socket.destroy();
      await until(() => endpoint.sockets.size === 0);
      assert.equal(calls[0]?.signal.aborted, true);
    },
  );
});

test("pipelined requests on one connection are answered in order", async () => {
  const answer = (socket: Socket, { line }: Asked): void => {
    const name = /\/v1\/(\w+)/.exec(line)?.[1] ?? "";
    const say = (): void => {
      socket.write(STREAM_HEAD);
      socket.write(chunk(name));
      void turns().then(() => socket.write(`${chunk(name).toString()}${LAST_CHUNK}`));
    };
    void turns(name === "slow" ? 500 : 0).then(say);
  };
  await through(answer, {}, async ({ route, passed }) => {
    let received = "";
    const { host, port } = new URL(route.baseUrl);
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("data", (piece) => (received += piece.toString()));
    for (const name of ["slow", "fast", "last"])
      socket.write(`GET /t/${route.token}/v1/${name} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    await until(() => passed.length === 3);
    await until(() => received.split(LAST_CHUNK).length >= 4);
    assert.deepEqual(received.match(/slow|fast|last/g), ["slow", "slow", "fast", "fast", "last", "last"]);
    socket.destroy();
  });
});
