/** What connections to endpoints bring, read into one buffer that all of them share, or by TLS. */
import assert from "node:assert/strict";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import type { Dialect } from "../../../../src/gateway/wire/dialect/dialect.ts";
import { directAgents } from "../../../../src/gateway/wire/upstream/direct-agents.ts";
import { directUpstream, type DirectOptions } from "../../../../src/gateway/wire/upstream/direct.ts";
import type { UpstreamAnswer } from "../../../../src/gateway/wire/upstream/upstream.ts";
import { sleep } from "../../../../src/platform/deadline.ts";
import { chunk, LAST_CHUNK, rawEndpoint, STREAM_HEAD, until, type Asked } from "../server/support.ts";

const SIZED = "HTTP/1.1 200 OK\r\ncontent-length: ";
/** Its end is that of the connection. */
const UNSIZED = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";

type Ask = (path: string) => Promise<UpstreamAnswer>;

async function withEndpoint(
  answer: (socket: Socket, path: string) => void,
  work: (ask: Ask, baseUrl: string) => Promise<void>,
  options: Partial<DirectOptions> = {},
): Promise<void> {
  const at = ({ line }: Asked): string => /\/v1\/(\S*)/.exec(line)?.[1] ?? "";
  const endpoint = await rawEndpoint((socket, asked) => answer(socket, at(asked)));
  const agents = directAgents();
  try {
    await work(asks({ baseUrl: endpoint.baseUrl, agents, ...options }), endpoint.baseUrl);
  } finally {
    agents.close();
    await endpoint.close();
  }
}

function asks(options: Omit<DirectOptions, "label">): Ask {
  const upstream = directUpstream({ label: "test", ...options });
  return (path) =>
    upstream.send({
      method: "POST",
      path: `/${path}`,
      rawHeaders: [],
      body: [Buffer.from(path)],
      read: undefined,
      dialect: {} as Dialect,
      signal: new AbortController().signal,
    });
}

/** Its pieces as they came; what one of them says must not change when others come. */
async function piecesOf({ stream }: UpstreamAnswer): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return pieces;
}

test("answers that come at once on many connections keep their own bytes, also after the next read", async () => {
  const sizes = fc.array(fc.nat(90_000), { minLength: 1, maxLength: 6 });
  let answers: Buffer[][] = [];
  const answer = async (socket: Socket, path: string): Promise<void> => {
    socket.write(STREAM_HEAD);
    for (const piece of answers[Number(path)] ?? []) {
      if (piece.length > 0) socket.write(chunk(piece));
      await sleep(0);
    }
    socket.write(LAST_CHUNK);
  };
  await withEndpoint(
    (socket, path) => void answer(socket, path),
    async (ask) => {
      const property = fc.asyncProperty(fc.array(sizes, { minLength: 2, maxLength: 12 }), async (all) => {
        answers = all.map((each, name) => each.map((size, at) => Buffer.alloc(size, `${name}.${at};`)));
        const met = await Promise.all(answers.map(async (_, name) => piecesOf(await ask(String(name)))));
        for (const [name, pieces] of met.entries())
          assert.ok(Buffer.concat(pieces).equals(Buffer.concat(answers[name] ?? [])), `answer ${name}`);
      });
      await fc.assert(property, { numRuns: 25 });
    },
  );
});

test("what a connection has read and nobody has taken yet stays as it is when another one reads", async () => {
  await withEndpoint(
    (socket, path) => void socket.write(path.repeat(1_000)),
    async (_ask, baseUrl) => {
      const agents = directAgents();
      const { hostname, port } = new URL(baseUrl);
      const open = async (path: string): Promise<Duplex> => {
        const socket = agents.http.createConnection({ host: hostname, port: Number(port) });
        assert.ok(socket);
        socket.write(`GET /v1/${path} HTTP/1.1\r\n\r\n`);
        socket.read(0);
        await until(() => socket.readableLength === path.length * 1_000);
        return socket;
      };
      const [one, two] = [await open("one"), await open("two")];
      assert.equal(String(one.read()), "one".repeat(1_000));
      assert.equal(String(two.read()), "two".repeat(1_000));
      for (const socket of [one, two]) socket.destroy();
      agents.close();
    },
  );
});

test("an answer whose end is the connection's has all its bytes, one that is reset has an error", async () => {
  const body = Buffer.alloc(300_000, "0123456789");
  await withEndpoint(
    (socket, path) => {
      if (path === "whole") return void socket.write(UNSIZED, () => socket.end(body));
      socket.write(`${SIZED}${body.length}\r\n\r\n`);
      return void socket.write(body.subarray(1), () => setTimeout(() => socket.resetAndDestroy(), 20));
    },
    async (ask) => {
      assert.ok(Buffer.concat(await piecesOf(await ask("whole"))).equals(body));
      const { stream } = await ask("reset");
      let size = 0;
      stream.on("data", (piece: Buffer) => (size += piece.length));
      const error = await new Promise<Error & { code?: string }>((resolve) => stream.once("error", resolve));
      assert.equal(error.code, "ECONNRESET");
      assert.equal(size, body.length - 1);
    },
  );
});

test("an answer that nobody reads is left with the endpoint, and comes whole once somebody does", async () => {
  const piece = Buffer.alloc(64 * 2 ** 10, "0123456789abcdef");
  const total = 1_000;
  let written = 0;
  await withEndpoint(
    (socket) => {
      socket.write(`${SIZED}${total * piece.length}\r\n\r\n`);
      const go = (): void => {
        while (written < total) {
          written += 1;
          if (!socket.write(piece)) return void socket.once("drain", go);
        }
      };
      go();
    },
    async (ask) => {
      const { stream } = await ask("long");
      for (let last = -1; last !== written;) {
        last = written;
        await sleep(100);
      }
      assert.ok(written < total / 2, `${written} pieces`);
      let size = 0;
      stream.on("data", (bytes: Buffer) => (size += bytes.length));
      await until(() => size === total * piece.length, 20_000);
    },
  );
});

test("an endpoint that is given by name is read as one that is given by address is", async () => {
  await withEndpoint(
    (socket, path) => void socket.write(`${SIZED}${path.length}\r\n\r\n${path}`),
    async (_ask, baseUrl) => {
      const agents = directAgents();
      // Of its addresses only one is listened at.
      const ask = asks({ baseUrl: baseUrl.replace("127.0.0.1", "localhost"), agents });
      for (const path of ["one", "two"])
        assert.equal(String(Buffer.concat(await piecesOf(await ask(path)))), path);
      agents.close();
    },
  );
});

/** Of nobody; for `localhost`, from 2000 to 2099. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2mXAyStf4T2AvWKU
EyLFEEhkCkf8wtRiIhLJ5hgGiJ+hRANCAASC6euFlu1E9zeHMHz7UhE4BWRGMyLM
f+uen/Nter1Wo+x6h81tW09EcrxOAQRT/iY8xX/A06GpOyrnGpxWCJs5
-----END PRIVATE KEY-----
`;
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBZzCCAQ2gAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMDAwMTAxMDAwMDAwWhgPMjA5OTEyMzEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABILp64WW7UT3N4cw
fPtSETgFZEYzIsx/656f8216vVaj7HqHzW1bT0RyvE4BBFP+JjzFf8DToak7Kuca
nFYImzmjTjBMMA8GA1UdEwEB/wQFMAMBAf8wGgYDVR0RBBMwEYIJbG9jYWxob3N0
hwR/AAABMB0GA1UdDgQWBBQE4TqMdzATw4thH6g22pkyMkCHeTAKBggqhkjOPQQD
AgNIADBFAiEAwJdfpdLumDYGJcPrCzcDDq8FXB3wZYILs4ngrubSR3MCIEVZV2sY
yIgRkvfSTJlNi1vfcaIGQUr8Xf565su+rygY
-----END CERTIFICATE-----
`;

test("an endpoint with TLS is asked over kept connections, and no other certificate than a trusted one will do", async () => {
  const sockets = new Set<unknown>();
  const body = Buffer.alloc(300_000, "0123456789");
  const server = createTlsServer({ key: KEY, cert: CERTIFICATE }, (request, response) => {
    sockets.add(request.socket);
    request.resume().on("end", () => void response.end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const agents = directAgents();
  try {
    await assert.rejects(asks({ baseUrl, agents })("none"), { code: "model_unavailable" });
    agents.https.options.ca = CERTIFICATE;
    const ask = asks({ baseUrl, agents });
    for (let time = 0; time < 3; time++)
      assert.ok(Buffer.concat(await piecesOf(await ask("fine"))).equals(body));
    assert.equal(sockets.size, 1);
  } finally {
    agents.close();
    await new Promise((resolve) => server.close(resolve));
  }
});
