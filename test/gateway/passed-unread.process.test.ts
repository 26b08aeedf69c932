/** Requests that no engine governs: sent before they are read, and let go of while their answers stream. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { dialectOf } from "../../packages/gateway/src/dialect/dialects.ts";
import { WireRouteHandler } from "../../packages/gateway/src/request/exchange.ts";
import type { RouteOptions } from "../../packages/gateway/src/request/route-facts.ts";
import type { WireCall } from "../../packages/gateway/src/server/gateway-call.ts";
import { directUpstream } from "../../packages/gateway/src/upstream/direct.ts";
import type { Upstream } from "../../packages/gateway/src/upstream/upstream.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { BODY } from "./exchange-bench.ts";

const LONGEST_MS = 20_000;
/** Answers each request, and writes the file that its path names when the request has come. */
const ENDPOINT = `
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
const server = createServer((request, response) => {
  writeFileSync(decodeURIComponent(request.url.slice(1)), "");
  request.resume().on("end", () => response.end("{}"));
});
server.listen(0, "127.0.0.1", () => process.send(server.address().port));
process.on("disconnect", () => process.exit());
`;

/** An endpoint in a process of its own, until the test has ended. */
async function startEndpoint(t: TestContext): Promise<{ root: string; baseUrl: string }> {
  const root = mkdtempSync(join(tmpdir(), "pagurus-unread-"));
  const script = join(root, "endpoint.mjs");
  writeFileSync(script, ENDPOINT);
  const child = fork(script, { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
  t.after(() => {
    child.kill("SIGKILL");
    rmSync(root, { recursive: true, force: true });
  });
  const [port] = (await once(child, "message")) as [number];
  return { root, baseUrl: `http://127.0.0.1:${port}` };
}

interface Watched {
  onRead?: () => void;
  onExchange?: RouteOptions["onExchange"];
}

async function handlerOf(upstream: Upstream, { onRead, onExchange }: Watched): Promise<WireRouteHandler> {
  return new WireRouteHandler({
    id: "route",
    sessionKey: "main",
    runtime: "test",
    dialect: await dialectOf("openai-completions"),
    logger: silentLogger,
    classify: (request) => {
      onRead?.();
      return request;
    },
    onExchange,
    governor: {
      passes: true,
      upstream: () => upstream,
      main: () => assert.fail("asked"),
      compaction: () => assert.fail("asked"),
      sent: () => undefined,
      answered: () => undefined,
    },
  });
}

function callTo(path: string, body: () => Promise<Buffer>, pass: WireCall["pass"]): WireCall {
  return {
    id: 0,
    method: "POST",
    path,
    query: "",
    headers: {},
    rawHeaders: ["content-type", "application/json"],
    signal: new AbortController().signal,
    body,
    reply: ({ status }) => assert.fail(`answered with ${status}`),
    pass,
  };
}

test("the endpoint has the request before it is read, also on a connection that is kept", async (t) => {
  const { root, baseUrl } = await startEndpoint(t);
  let arrives = "";
  const seen: boolean[] = [];
  const upstream = directUpstream({ baseUrl, label: "endpoint" });
  const handler = await handlerOf(upstream, {
    onRead: () => {
      // Nothing else of this process runs meanwhile.
      for (const end = Date.now() + LONGEST_MS; !existsSync(arrives) && Date.now() < end;);
      seen.push(existsSync(arrives));
    },
  });
  // A new connection takes some turns of the event loop; the second request is sent on the kept one.
  const names = ["first", "second"];
  for (const [index, name] of names.entries()) {
    arrives = index === 0 ? root : join(root, name);
    const path = `/${encodeURIComponent(join(root, name))}`;
    const pass: WireCall["pass"] = async ({ stream }) => {
      await once(stream.resume(), "end");
      return { cut: false, left: false, bytes: 2 };
    };
    await handler.handle(callTo(path, () => Promise.resolve(Buffer.from(BODY)), pass));
  }
  assert.deepEqual(seen, [true, true]);
});

test("without a capture a request is read after its answer has begun, and before it is reported", async () => {
  const order: string[] = [];
  const answer = { status: 200, rawHeaders: [], headers: {}, stream: Readable.from([]) };
  const upstream = { label: "none", send: () => Promise.resolve(answer) };
  const handler = await handlerOf(upstream, {
    onRead: () => order.push("read"),
    onExchange: ({ kind }) => order.push(`reported as ${kind}`),
  });
  const pass: WireCall["pass"] = () => {
    order.push("answer begins");
    return Promise.resolve({ cut: false, left: false, bytes: 0 });
  };
  await handler.handle(callTo("/chat/completions", () => Promise.resolve(Buffer.from(BODY)), pass));
  await setImmediate();
  assert.deepEqual(order, ["answer begins", "read", "reported as main"]);
});

/** A body that only its reader holds once it was read. */
function largeBody(): { held: WeakRef<Buffer>; take: () => Promise<Buffer> } {
  const whole = Buffer.alloc(2 ** 20, " ");
  whole.write(BODY);
  const bodies = [whole];
  return {
    held: new WeakRef(whole),
    take: () => Promise.resolve(bodies.pop() ?? assert.fail("read twice")),
  };
}

test("nothing of the request is held while its answer streams", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const streams = Promise.withResolvers<void>();
  const ends = Promise.withResolvers<void>();
  const stream = Readable.from([]);
  const answer = { status: 200, rawHeaders: [], headers: {}, stream };
  const handler = await handlerOf({ label: "none", send: () => Promise.resolve(answer) }, {});
  const { held, take } = largeBody();
  const handled = handler.handle(
    callTo("/chat/completions", take, async () => {
      streams.resolve();
      await ends.promise;
      return { cut: false, left: false, bytes: 0 };
    }),
  );
  await streams.promise;
  for (let round = 0; round < 10 && held.deref() !== undefined; round++) {
    await setImmediate();
    collect();
  }
  assert.ok(held.deref() === undefined);
  ends.resolve();
  await handled;
});
