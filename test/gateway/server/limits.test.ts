import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { WireServer } from "../../../packages/gateway/src/server/gateway-server.ts";
import type { WireCall } from "../../../packages/gateway/src/server/gateway-call.ts";
import type { WireLimits } from "../../../packages/gateway/src/server/limits.ts";
import { ask, say, type Met } from "./support.ts";
import { longTest } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";

interface Served {
  baseUrl: string;
  headers: Record<string, string>;
  token: string;
}

/** Answers with the length and digest of the body. */
async function served<T>(
  limits: Partial<WireLimits>,
  work: (at: Served) => Promise<T>,
  handler: (call: WireCall) => Promise<void> = async (call) => {
    const body = await call.body();
    call.reply({ status: 200, headers: {}, body: Buffer.from(`${body.length} ${digest(body)}`) });
  },
): Promise<T> {
  const server = new WireServer({ limits });
  const { baseUrl, headers, token } = await server.route(handler);
  try {
    return await work({ baseUrl, headers, token });
  } finally {
    await server.close();
  }
}

function digest(body: Buffer): string {
  return createHash("sha256").update(body).digest("hex");
}

function errorOf({ body }: Met): string {
  return (JSON.parse(body.toString()) as { error: { message: string } }).error.message;
}

longTest("a body of 64 MiB is read whole, with a length or in chunks", async () => {
  const body = Buffer.alloc(64 * 2 ** 20, "0123456789abcdef!");
  const parts = Array.from({ length: 64 }, (_each, at) => body.subarray(at * 2 ** 20, (at + 1) * 2 ** 20));
  await served({}, async ({ baseUrl, headers }) => {
    for (const sent of [body, parts]) {
      const met = await ask(baseUrl, { headers, body: sent });
      assert.equal(met.body.toString(), `${body.length} ${digest(body)}`);
    }
  });
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test("a body over the limit is refused in the protocol's format, with a length or in chunks, and never held", async () => {
  await served({ maxBodyBytes: 2 ** 20, lingerMs: 60_000 }, async ({ baseUrl, headers }) => {
    const piece = Buffer.alloc(2 ** 20);
    const before = process.memoryUsage().arrayBuffers;
    for (const body of [Buffer.alloc(2 ** 20 + 1), Array.from({ length: 48 }, () => piece)]) {
      for (const path of ["/v1/messages", "/v1/responses"]) {
        const met = await ask(baseUrl, { headers, path, body });
        assert.equal(met.status, 413);
        assert.equal(met.complete, true);
        assert.match(errorOf(met), /larger than 1048576 bytes/);
        assert.equal(path === "/v1/messages", met.body.toString().includes("request_too_large"));
      }
    }
    // The client's sent bytes are garbage by now, and may not have been collected.
    collectGarbage();
    assert.ok(process.memoryUsage().arrayBuffers - before < 24 * 2 ** 20);
  });
});

test("a client that only reads after it has sent everything gets its refusal too", async () => {
  await served({ maxBodyBytes: 100, lingerMs: 60_000 }, async ({ baseUrl, token }) => {
    const body = Buffer.alloc(32 * 2 ** 20);
    const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1").pause();
    const head = `POST /t/${token}/v1/x HTTP/1.1\r\nhost: ${new URL(baseUrl).host}\r\n`;
    socket.write(`${head}content-length: ${body.length}\r\n\r\n`);
    let received = "";
    const outcome = new Promise<string>((resolve) => {
      socket.on("error", (error) => resolve(error.message)).on("end", () => resolve(received));
    });
    socket.on("data", (piece) => (received += piece.toString()));
    socket.write(body, () => socket.resume());
    assert.match(await outcome, /^HTTP\/1\.1 413 /);
    socket.destroy();
  });
});

test("a client that expects 100 Continue gets it, or the refusal instead", async () => {
  await served({ maxBodyBytes: 100, lingerMs: 50 }, async ({ baseUrl, token }) => {
    const head = (length: number): string =>
      `POST /t/${token}/v1/x HTTP/1.1\r\nhost: ${new URL(baseUrl).host}\r\nexpect: 100-continue\r\n` +
      `connection: close\r\ncontent-length: ${length}\r\n\r\n`;
    const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
    let received = "";
    socket.on("data", (piece) => (received += piece.toString()));
    socket.write(head(5));
    await until(() => received.startsWith("HTTP/1.1 100 Continue\r\n\r\n"));
    socket.write("hello");
    await until(() => received.includes(`5 ${digest(Buffer.from("hello"))}`));
    assert.match(await say(baseUrl, head(101)), /^HTTP\/1\.1 413 /);
  });
});

test("a connection whose request does not come in time gets an error and is closed", async () => {
  await served({ headMs: 100, lingerMs: 50 }, async ({ baseUrl, headers }) => {
    for (const bytes of ["", "POST /v1/x HTTP/1.1\r\nhost: "])
      assert.match(await say(baseUrl, bytes), /^HTTP\/1\.1 408 /);
    assert.equal((await ask(baseUrl, { headers })).status, 200);
  });
});

test("a body without new data is aborted, a slow one is not", async () => {
  await served({ bodyStallMs: 3_000, lingerMs: 50 }, async ({ baseUrl, token }) => {
    const head = `POST /t/${token}/v1/x HTTP/1.1\r\nhost: ${new URL(baseUrl).host}\r\ncontent-length: 8\r\n\r\n`;
    const stalled = await say(baseUrl, `${head}1234`);
    assert.match(stalled, /^HTTP\/1\.1 400 [\s\S]*Nothing of the request's body came for 3 s/);
    const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
    socket.write(head);
    for (const letter of "12345678") {
      await new Promise((resolve) => setTimeout(resolve, 400));
      socket.write(letter);
    }
    const [answer] = (await once(socket, "data")) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 200 /);
    socket.destroy();
  });
});

test("10,000 bytes of headers pass unchanged, in one or in thousands; 20,000 get a clear refusal", async () => {
  const many = Object.fromEntries(Array.from({ length: 2_300 }, (_each, at) => [`a${at.toString(36)}`, ""]));
  const seen: number[] = [];
  const handler = async (call: WireCall): Promise<void> => {
    seen.push(call.rawHeaders.length / 2);
    const body = Buffer.from(String(call.headers["x-long"]?.length ?? 0));
    call.reply({ status: 200, headers: {}, body });
  };
  await served(
    {},
    async ({ baseUrl, headers }) => {
      const long = await ask(baseUrl, { headers: { ...headers, "x-long": "y".repeat(10_000) } });
      assert.equal(long.body.toString(), "10000");
      assert.equal((await ask(baseUrl, { headers: { ...headers, ...many } })).status, 200);
      assert.ok((seen[1] ?? 0) > 2_300, "no header was left out");
      const tooLong = await ask(baseUrl, { headers: { ...headers, "x-long": "y".repeat(20_000) } });
      assert.equal(tooLong.status, 431);
      assert.match(errorOf(tooLong), /headers are too long/);
      assert.equal((await ask(baseUrl, { headers })).status, 200);
    },
    handler,
  );
});

test("more concurrent requests than a route's limit are refused until one ends", async () => {
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  let begun = 0;
  await served(
    { maxRequests: 3 },
    async ({ baseUrl, headers }) => {
      const running = Array.from({ length: 3 }, () => ask(baseUrl, { headers }));
      await until(() => begun === 3);
      const met = await ask(baseUrl, { headers });
      assert.equal(met.status, 503);
      assert.match(errorOf(met), /More than 3 requests/);
      release();
      for (const each of running) assert.equal((await each).status, 200);
      assert.equal((await ask(baseUrl, { headers })).status, 200);
    },
    async (call) => {
      begun += 1;
      await gate;
      call.reply({ status: 200, headers: {}, body: Buffer.alloc(0) });
    },
  );
});
