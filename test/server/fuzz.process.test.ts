/** Requests that no client would send: each gets an answer of the right shape, the server stays up and its memory flat. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { FULL } from "../runner/short-form.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { ServeProcess } from "./serve-setting.ts";
import { longTest } from "../runner/long-tests.ts";

const REQUESTS = FULL ? 100_000 : 1_500;
const AT_ONCE = 16;
/** More than the caches of a warmed-up server still grow by, MB. */
const MOST_GROWTH_MB = 120;
const PATHS = [
  "/api/v1/sessions",
  "/api/v1/sessions/a",
  "/api/v1/sessions/a/turns",
  "/api/v1/sessions/a/entries",
  "/api/v1/sessions/a/rewind",
  "/api/v1/sessions/a/fork",
  "/api/v1/work/x",
  "/api/v1/search",
  "/api/v1/approvals/x",
  "/api/v1/tokens",
  "/acp",
  "/sign-in",
  "/",
];

const request = fc.record({
  method: fc.constantFrom("GET", "POST", "DELETE", "PUT", "PATCH", "HEAD"),
  path: fc.oneof(
    fc.constantFrom(...PATHS),
    fc.tuple(fc.constantFrom(...PATHS), fc.webQueryParameters()).map(([path, query]) => `${path}?${query}`),
    fc.webPath().map((path) => `/api/v1/sessions${path}/turns`),
    fc.string({ unit: "binary-ascii" }).map((text) => `/${encodeURIComponent(text)}`),
  ),
  body: fc.oneof(
    fc.constant(""),
    fc.json(),
    fc.string(),
    fc
      .record({ prompt: fc.oneof(fc.string(), fc.jsonValue()), policy: fc.jsonValue() })
      .map((value) => JSON.stringify(value)),
  ),
  authorized: fc.boolean(),
  type: fc.constantFrom("application/json", "text/plain", "multipart/form-data", ""),
});

describe(`${REQUESTS} requests at random`, () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  before(async () => {
    model = await startServer({ protocol: "openai-completions", script: () => ({ text: "ok" }) });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  function residentMb(): number {
    const status = readFileSync(`/proc/${server.child.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
  }

  longTest(
    "are answered with a status below 500 and JSON errors, and use no more memory in the end",
    async () => {
      const made = fc.sample(request, { numRuns: REQUESTS, seed: 20_261_126 });
      const key = server.key;
      let next = 0;
      let warm = 0;
      const send = async (): Promise<void> => {
        for (let each = made[next++]; each; each = made[next++]) {
          if (next === Math.floor(REQUESTS / 3)) warm = residentMb();
          const { method, path, body, authorized, type } = each;
          const hasBody = method !== "GET" && method !== "HEAD";
          const answer = await fetch(`${server.url}${path}`, {
            method,
            redirect: "manual",
            headers: {
              ...(authorized ? { authorization: `Bearer ${key}` } : {}),
              ...(type === "" ? {} : { "content-type": type }),
            },
            ...(hasBody ? { body } : {}),
          });
          const text = await answer.text();
          assert.ok(answer.status < 500, `${method} ${path}: ${answer.status} ${text}`);
          if (!authorized && path.startsWith("/api/")) assert.equal(answer.status, 401);
          if (answer.status >= 400 && method !== "HEAD" && path.startsWith("/api/"))
            assert.ok((JSON.parse(text) as { error?: { message?: string } }).error?.message, text);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, send));
      assert.ok(residentMb() < warm + MOST_GROWTH_MB, `${warm} MB became ${residentMb()} MB`);
      assert.equal((await server.call("GET", "/api/v1/status")).status, 200);
    },
  );

  it("of broken HTTP end their connection, and no other", async () => {
    const broken = fc.sample(fc.uint8Array({ minLength: 1, maxLength: 2_000 }), {
      numRuns: FULL ? 2_000 : 50,
      seed: 1,
    });
    for (const bytes of broken) {
      const socket = connect(server.port, "127.0.0.1");
      socket.on("error", () => undefined);
      await once(socket, "connect");
      socket.resume().end(bytes);
      await once(socket, "close");
    }
    assert.equal((await server.call("GET", "/api/v1/status")).status, 200);
  });
});
