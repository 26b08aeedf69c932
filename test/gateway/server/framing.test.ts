/** Answers relayed from any stream: where they end, in every framing, and what is sent before an end or a cut. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { test, type TestContext } from "node:test";
import fc from "fast-check";
import { relay, type Passed } from "../../../packages/gateway/src/server/relay.ts";
import { ask } from "./support.ts";
import { longTest } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";
import { turns, untilStays } from "../../runner/loop-turns.ts";

interface Relaying {
  baseUrl: string;
  passed: Passed[];
}

/** Relays the result of `answer` for each request. */
async function relayingServer(
  t: TestContext,
  answer: () => { stream: Readable; status?: number; rawHeaders?: string[] },
): Promise<Relaying> {
  const passed: Passed[] = [];
  const server = createServer((request, response) => {
    const over: ((whole: boolean) => void)[] = [];
    const target = {
      request,
      response,
      onOver: (listener: (whole: boolean) => void) => over.push(listener),
    };
    request.resume().socket.once("close", () => {
      if (!response.writableFinished) for (const listener of over) listener(false);
    });
    response.once("finish", () => {
      for (const listener of over) listener(true);
    });
    const { status = 200, rawHeaders = [], stream } = answer();
    const into: Passed = { cut: false, left: false, bytes: 0 };
    void relay(target, { status, rawHeaders, headers: {}, stream }, into).then((each) => passed.push(each));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, passed };
}

/** Each word as a chunk of its own. */
function wordStream(words: readonly string[]): Readable {
  return Readable.from(words.map((word) => Buffer.from(word)));
}

function client({ baseUrl }: Relaying, request = "GET / HTTP/1.1\r\nhost: x\r\n\r\n"): Socket {
  const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
  socket.on("error", () => undefined).write(request);
  return socket;
}

test("chunks are sent whole and in order, before the end or the cut, in every framing", async (t) => {
  let next: { stream: Readable; rawHeaders: string[] } = { stream: new PassThrough(), rawHeaders: [] };
  const relaying = await relayingServer(t, () => next);
  const property = fc.asyncProperty(
    fc.array(fc.tuple(fc.integer({ min: 1, max: 20_000 }), fc.boolean()), { minLength: 1, maxLength: 8 }),
    fc.boolean(),
    fc.boolean(),
    async (sizes, isSized, isCut) => {
      const stream = new PassThrough();
      const pieces = sizes.map(([size], index) => Buffer.alloc(size, 97 + index));
      const whole = Buffer.concat(pieces);
      const length = String(whole.length + (isCut ? 1 : 0));
      next = { stream, rawHeaders: isSized ? ["content-length", length] : [] };
      relaying.passed.length = 0;
      const met = ask(relaying.baseUrl);
      await until(() => stream.listenerCount("end") > 0);
      for (const [index, piece] of pieces.entries()) {
        if (sizes[index]?.[1] === true) await turns(1);
        stream.write(piece);
      }
      // Right after the last chunk.
      if (isCut) setImmediate(() => stream.destroy(new Error("cut")));
      else stream.end();
      const { body, complete } = await met;
      assert.ok(body.equals(whole), `${body.length} of ${whole.length} bytes`);
      assert.equal(complete, !isCut);
      await until(() => relaying.passed.length === 1);
      assert.deepEqual(relaying.passed, [{ cut: isCut, left: false, bytes: whole.length }]);
    },
  );
  await fc.assert(property, { numRuns: 60 });
});

test("a client of HTTP/1.0 gets chunks without a frame and before the end, whatever it accepts", async (t) => {
  const relaying = await relayingServer(t, () => ({
    stream: wordStream(["one;", "two;", "three;"]),
  }));
  for (const more of ["", "te: chunked\r\n", "connection: keep-alive\r\n"]) {
    let received = "";
    const socket = client(relaying, `GET / HTTP/1.0\r\nhost: x\r\n${more}\r\n`);
    socket.on("data", (piece) => (received += piece.toString()));
    await new Promise((resolve) => socket.once("end", resolve));
    const [head = "", body] = received.split("\r\n\r\n");
    assert.doesNotMatch(head, /transfer-encoding/i, more);
    assert.equal(body, "one;two;three;");
    socket.destroy();
  }
});

test("answers without a body have none whatever the stream contains, and the connection continues", async (t) => {
  const relaying = await relayingServer(t, () => ({ stream: wordStream(["one;", "two;"]), status }));
  let status = 200;
  for (const [method, code] of [
    ["HEAD", 200],
    ["GET", 204],
    ["GET", 304],
  ] as const) {
    status = code;
    let received = "";
    const socket = client(relaying, `${method} / HTTP/1.1\r\nhost: x\r\n\r\n`);
    socket.on("data", (piece) => (received += piece.toString()));
    await until(() => received.includes("\r\n\r\n"));
    status = 200;
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await until(() => received.endsWith("0\r\n\r\n"));
    const [, second = ""] = received.split(/(?=HTTP\/1\.1 200 OK)/).slice(-2);
    assert.equal(received.split("one;").length, 2, `${method} ${code}`);
    assert.match(received, new RegExp(`^HTTP/1\\.1 ${code} [^;]*\r\n\r\nHTTP/1\\.1 200 `), second);
    socket.destroy();
  }
});

longTest("a client that does not read pauses any stream, and gets everything once it does", async (t) => {
  const piece = Buffer.alloc(1_000, "0123456789");
  const total = 60_000;
  let made = 0;
  const relaying = await relayingServer(t, () => ({
    stream: new Readable({
      highWaterMark: 16_384,
      read() {
        // Each in a turn of its own, like chunks of a connection.
        setImmediate(() => void this.push(made++ < total ? piece : null));
      },
    }),
  }));
  const socket = client(relaying);
  socket.pause();
  await until(() => made > 10);
  await untilStays(() => made);
  assert.ok(made < total / 2, `${made} pieces`);
  let size = 0;
  let tail = "";
  socket.on("data", (bytes: Buffer) => {
    size += bytes.length;
    tail = (tail + bytes.toString("latin1")).slice(-5);
  });
  socket.resume();
  await until(() => tail === "0\r\n\r\n");
  assert.ok(size > total * piece.length);
  await until(() => relaying.passed.length === 1);
  assert.deepEqual(relaying.passed, [{ cut: false, left: false, bytes: total * piece.length }]);
  socket.destroy();
});

test("a client that disconnects between two chunks ends the model's stream, and nothing is written any more", async (t) => {
  const streams: PassThrough[] = [];
  const relaying = await relayingServer(t, () => {
    const stream = new PassThrough();
    streams.push(stream);
    return { stream };
  });
  const socket = client(relaying);
  await until(() => streams.length === 1);
  const [stream] = streams;
  stream?.write("one;");
  await new Promise((resolve) => socket.once("data", resolve));
  stream?.write("two;");
  socket.destroy();
  await until(() => relaying.passed.length === 1);
  assert.equal(stream?.destroyed, true);
  assert.deepEqual([relaying.passed[0]?.cut, relaying.passed[0]?.left], [false, true]);
  await turns();
});

test("a cut of a later answer on the connection leaves the earlier one whole", async (t) => {
  const streams: PassThrough[] = [];
  const relaying = await relayingServer(t, () => {
    const stream = new PassThrough();
    streams.push(stream);
    return { stream };
  });
  const get = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
  let received = "";
  const socket = client(relaying, get + get);
  socket.on("data", (piece) => (received += piece.toString()));
  const ended = new Promise((resolve) => socket.once("end", resolve));
  await until(() => streams.length === 2);
  const [first, second] = streams;
  first?.write("one;");
  second?.write("other;");
  await turns();
  second?.destroy(new Error("cut"));
  await turns();
  first?.write("two;");
  await turns();
  first?.end("three;");
  await ended;
  const [, one = "", two = ""] = received.split(/HTTP\/1\.1 200 OK\r\n/);
  assert.deepEqual(one.match(/[a-z]+;/g), ["one;", "two;", "three;"]);
  assert.match(one, /\r\n0\r\n\r\n$/);
  assert.match(two, /\r\n\r\n6\r\nother;\r\n$/);
  await until(() => relaying.passed.length === 2);
  assert.deepEqual(
    relaying.passed.map(({ cut, left }) => [cut, left]),
    [
      [false, false],
      [true, false],
    ],
  );
  socket.destroy();
});
