/** A server that joins short chunks: readers get the same bytes in few pieces, and the memory of a body is that of its bytes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import fc from "fast-check";
import { BodyPieces, joinChunks } from "../../packages/core/src/platform/joined-chunks.ts";

interface Got {
  body: Buffer;
  pieces: number;
}

/** Sends a request in parts, each written by itself; resolves with what the server's reader got. */
async function sent(
  t: TestContext,
  parts: readonly Buffer[],
  reads: (request: IncomingMessage) => Promise<Got>,
): Promise<Got> {
  const got = Promise.withResolvers<Got>();
  const server = createServer((request, response) => {
    joinChunks(request);
    reads(request)
      .then(got.resolve, got.reject)
      .finally(() => response.end("ok"));
  });
  t.after(() => server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  t.after(() => socket.destroy());
  socket.write("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n");
  for (const part of parts) if (!socket.write(part)) await once(socket, "drain");
  socket.write("0\r\n\r\n");
  return await got.promise;
}

async function byEvents(request: IncomingMessage): Promise<Got> {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  await once(request, "end");
  return { body: Buffer.concat(pieces), pieces: pieces.length };
}

async function byIterator(request: IncomingMessage): Promise<Got> {
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
  return { body: Buffer.concat(pieces), pieces: pieces.length };
}

function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
}

test("a body in chunks of one byte reaches its reader in few pieces", async (t) => {
  const bytes = Buffer.from(Array.from({ length: 60_000 }, (_, at) => at % 251));
  const chunks = Buffer.concat([...bytes].map((byte) => chunk(Buffer.from([byte]))));
  for (const reads of [byEvents, byIterator]) {
    const { body, pieces } = await sent(t, [chunks], reads);
    assert.ok(body.equals(bytes));
    assert.ok(pieces < 600, `${pieces} pieces`);
  }
});

test("short and long chunks keep their order, whatever their lengths and the reader", async (t) => {
  const lengths = fc.array(
    fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 3_000, max: 70_000 })),
    {
      maxLength: 12,
    },
  );
  await fc.assert(
    fc.asyncProperty(lengths, fc.boolean(), async (sizes, isEvents) => {
      const pieces = sizes.map((length, at) => Buffer.alloc(length, at + 1));
      const { body } = await sent(t, pieces.map(chunk), isEvents ? byEvents : byIterator);
      assert.ok(body.equals(Buffer.concat(pieces)));
    }),
    { numRuns: 20 },
  );
});

test("the pieces of a body are kept in few buffers, and are the body", () => {
  const all: Buffer[] = [];
  const pieces = new BodyPieces(undefined);
  for (let at = 0; at < 20_000; at++) {
    const piece = Buffer.from([at % 256]);
    all.push(piece);
    pieces.add(piece);
  }
  assert.equal(pieces.size, 20_000);
  assert.ok(pieces.whole().equals(Buffer.concat(all)));
  const known = new BodyPieces(6);
  for (const text of ["ab", "cd", "ef"]) known.add(Buffer.from(text));
  assert.equal(known.whole().toString(), "abcdef");
});
