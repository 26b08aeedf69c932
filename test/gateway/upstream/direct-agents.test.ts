/** Data of endpoint connections: read into one shared buffer, rarely while many answers stream, and over TLS. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import type { Dialect } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { directAgents, type DirectAgents } from "../../../packages/gateway/src/upstream/direct-agents.ts";
import { directUpstream, type DirectOptions } from "../../../packages/gateway/src/upstream/direct.ts";
import type { UpstreamAnswer } from "../../../packages/gateway/src/upstream/upstream.ts";
import { CERTIFICATE, PRIVATE_KEY } from "../../servers/certificate.ts";
import { chunk, LAST_CHUNK, rawEndpoint, STREAM_HEAD, type Asked } from "../server/support.ts";
import { until } from "../../runner/until.ts";
import { turns, untilStays } from "../../runner/loop-turns.ts";

const SIZED = "HTTP/1.1 200 OK\r\ncontent-length: ";
/** It ends with the connection. */
const UNSIZED = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";

type Ask = (path: string) => Promise<UpstreamAnswer>;

/** Alone, and with so many other streaming answers that connections pause between two reads. */
const OTHERS = [0, 200];

function agentsBeside(others: number): DirectAgents {
  const agents = directAgents();
  for (let other = 0; other < others; other++) agents.reads.begin();
  return agents;
}

async function withEndpoint(
  answer: (socket: Socket, path: string) => void,
  work: (ask: Ask, baseUrl: string) => Promise<void>,
  { others = 0, ...options }: Partial<DirectOptions> & { others?: number } = {},
): Promise<void> {
  const at = ({ line }: Asked): string => /\/v1\/(\S*)/.exec(line)?.[1] ?? "";
  const endpoint = await rawEndpoint((socket, asked) => answer(socket, at(asked)));
  const agents = agentsBeside(others);
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

/** Its chunks as they came; a chunk must not change when others come. */
async function piecesOf({ stream }: UpstreamAnswer): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return pieces;
}

for (const others of OTHERS)
  test(`answers that come at once on many connections keep their own bytes, also after the next read, with ${others} others`, async () => {
    const sizes = fc.array(fc.nat(90_000), { minLength: 1, maxLength: 6 });
    let answers: Buffer[][] = [];
    const answer = async (socket: Socket, path: string): Promise<void> => {
      socket.write(STREAM_HEAD);
      for (const piece of answers[Number(path)] ?? []) {
        if (piece.length > 0) socket.write(chunk(piece));
        await turns(1);
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
        await fc.assert(property, { numRuns: others === 0 ? 25 : 10 });
      },
      { others },
    );
  });

test("data that was read and not taken yet stays unchanged when another connection reads", async () => {
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

for (const others of OTHERS)
  test(`an answer that ends with its connection has all its bytes, one that is reset has an error, with ${others} others`, async () => {
    const body = Buffer.alloc(300_000, "0123456789");
    // A reset drops what a busy reader has not read yet, so it comes when all is read.
    const read = Promise.withResolvers<void>();
    await withEndpoint(
      (socket, path) => {
        if (path === "whole") return void socket.write(UNSIZED, () => socket.end(body));
        socket.write(`${SIZED}${body.length}\r\n\r\n`);
        socket.write(body.subarray(1));
        return void read.promise.then(() => socket.resetAndDestroy());
      },
      async (ask) => {
        assert.ok(Buffer.concat(await piecesOf(await ask("whole"))).equals(body));
        const { stream } = await ask("reset");
        let size = 0;
        stream.on("data", (piece: Buffer) => {
          size += piece.length;
          if (size === body.length - 1) read.resolve();
        });
        const error = await new Promise<Error & { code?: string }>((resolve) =>
          stream.once("error", resolve),
        );
        assert.equal(error.code, "ECONNRESET");
        assert.equal(size, body.length - 1);
      },
      { others },
    );
  });

for (const others of OTHERS)
  test(`an answer without a reader stays at the endpoint, and comes whole once it is read, with ${others} others`, async () => {
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
        await untilStays(() => written);
        assert.ok(written < total / 2, `${written} pieces`);
        let size = 0;
        stream.on("data", (bytes: Buffer) => (size += bytes.length));
        await until(() => size === total * piece.length);
      },
      { others },
    );
  });

test("an endpoint with a host name is read at the address that answers", async () => {
  await withEndpoint(
    (socket, path) => void socket.write(`${SIZED}${path.length}\r\n\r\n${path}`),
    async (_ask, baseUrl) => {
      const agents = directAgents();
      // No process listens at the first of them.
      const addresses = [
        { address: "::1", family: 6 },
        { address: "127.0.0.1", family: 4 },
      ];
      const { options } = agents.http as typeof agents.http & { options: object };
      Object.assign(options, {
        lookup: (_name: string, _options: object, done: (error: null, found: object[]) => void) =>
          done(null, addresses),
      });
      try {
        const ask = asks({ baseUrl: baseUrl.replace("127.0.0.1", "model.test"), agents });
        for (const path of ["one", "two"])
          assert.equal(String(Buffer.concat(await piecesOf(await ask(path)))), path);
      } finally {
        agents.close();
      }
    },
  );
});

interface TlsEndpoint {
  agents: DirectAgents;
  baseUrl: string;
  /** Connections of the requests. */
  sockets: Set<Socket>;
}

async function withTls(
  others: number,
  answer: (response: ServerResponse, path: string) => void,
  work: (endpoint: TlsEndpoint) => Promise<void>,
): Promise<void> {
  const agents = agentsBeside(others);
  const sockets = new Set<Socket>();
  const server = createTlsServer({ key: PRIVATE_KEY, cert: CERTIFICATE }, (request, response) => {
    sockets.add(request.socket);
    request.resume().on("end", () => answer(response, (request.url ?? "").replace("/v1/", "")));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await work({
      agents,
      baseUrl: `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      sockets,
    });
  } finally {
    agents.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

for (const others of OTHERS)
  test(`an endpoint with TLS is used over kept connections, and only with a trusted certificate, with ${others} others`, async () => {
    const body = Buffer.alloc(300_000, "0123456789");
    await withTls(
      others,
      (response) => void response.end(body),
      async ({ agents, baseUrl, sockets }) => {
        await assert.rejects(asks({ baseUrl, agents })("none"), { code: "model_unavailable" });
        agents.https.options.ca = CERTIFICATE;
        const ask = asks({ baseUrl, agents });
        for (let time = 0; time < 3; time++)
          assert.ok(Buffer.concat(await piecesOf(await ask("fine"))).equals(body));
        assert.equal(sockets.size, 1);
      },
    );
  });

for (const others of OTHERS)
  test(`answers over TLS keep their bytes and their cuts, and wait for a slow reader, with ${others} others`, async () => {
    const piece = Buffer.alloc(40_000, "0123456789abcdef");
    const total = 1_000;
    let written = 0;
    const send = (response: ServerResponse): void => {
      while (written < total) {
        written += 1;
        if (!response.write(piece)) return void response.once("drain", () => send(response));
      }
      response.end();
    };
    const answer = async (response: ServerResponse, path: string): Promise<void> => {
      if (path === "long") return send(response);
      for (let at = 0; at < 40; at++) {
        response.write(`${path}.${at};`);
        await turns(5);
      }
      if (path !== "cut") return void response.end();
      await turns();
      return void response.socket?.destroy();
    };
    const whole = (path: string): string => Array.from({ length: 40 }, (_, at) => `${path}.${at};`).join("");
    await withTls(
      others,
      (response, path) => void answer(response, path),
      async ({ agents, baseUrl }) => {
        agents.https.options.ca = CERTIFICATE;
        const ask = asks({ baseUrl, agents });
        const paths = Array.from({ length: 30 }, (_, index) => `answer-${index}`);
        const met = await Promise.all(
          paths.map(async (path) => String(Buffer.concat(await piecesOf(await ask(path))))),
        );
        assert.deepEqual(met, paths.map(whole));
        const pieces: Buffer[] = [];
        const { stream } = await ask("cut");
        stream.on("data", (each: Buffer) => pieces.push(each));
        await new Promise((resolve) => stream.once("error", resolve));
        assert.equal(String(Buffer.concat(pieces)), whole("cut"));
        const long = await ask("long");
        await untilStays(() => written);
        assert.ok(written < total / 2, `${written} pieces`);
        let size = 0;
        for await (const each of long.stream) size += (each as Buffer).length;
        assert.equal(size, total * piece.length);
      },
    );
  });
